/** The experiment as a whole: its name, duration, repeats, kernel and captured packets. */

import { AnnotationFields } from "../../../annotations/AnnotationFields";
import { isThere, useKernels } from "../../../api/queries";
import { change, useDraft } from "../draft";
import { CaptureFields } from "./CaptureFields";
import { FieldAt } from "./FieldAt";
import styles from "./Form.module.css";
import { NodeFields } from "./NodeFields";

const MORE = ["seed", "aggregate", "sample", "start_jitter", "emulation", "parts", "cc_era"] as const;

export function RunSection() {
  const kernels = (useKernels().data ?? []).filter(isThere);
  return (
    <section className={styles.section} aria-labelledby="form-run">
      <h2 id="form-run">Experiment</h2>
      <div className={styles.fields}>
        <FieldAt at={["experiment"]} label="Name" />
        <FieldAt at={["duration"]} placeholder="e.g. 30 s" />
        <FieldAt at={["warmup"]} placeholder="0 s" />
        <FieldAt at={["repeats"]} />
        <FieldAt at={["about"]} placeholder="what the experiment is to show" wide />
      </div>
      <details className={styles.more}>
        <summary>Seed, kernel, sampling</summary>
        <div className={styles.fields}>
          <FieldAt at={["kernel"]} choices={kernels.map((kernel) => kernel.version)} />
          {MORE.map((name) => (
            <FieldAt key={name} at={[name]} />
          ))}
        </div>
      </details>
      <WordsOfDraft />
      <NodeFields />
      <CaptureFields />
    </section>
  );
}

/** They are of the submission, not of the text: they can change later, and no run depends on them. */
function WordsOfDraft() {
  const { words } = useDraft();
  const given = [words.title, words.tags, words.comment].filter((word) => word.trim() !== "").length;
  return (
    <details className={styles.more} open={given > 0 || undefined}>
      <summary>Title, tags, comment</summary>
      <AnnotationFields words={words} onChange={(part) => change({ words: { ...words, ...part } })} />
    </details>
  );
}
