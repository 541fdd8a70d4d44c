/** A mistake in words, with a button that accepts the suggested correction. */
import { change, draft } from "../draft";
import { mended, mendOf } from "../mending";
import type { Mistake } from "../problems";
import { parseText } from "../yamlText";
import styles from "./Form.module.css";

export function MistakeText({ mistake }: { mistake: Mistake }) {
  const take = (): void => {
    const { text } = draft.get();
    const mend = mendOf(parseText(text).doc, mistake);
    if (mend) change({ text: mended(text, mend) });
  };
  return (
    <>
      {mistake.message}
      {mistake.nearest !== null && (
        <button type="button" className={styles.take} onClick={take}>
          Use {mistake.nearest}
        </button>
      )}
    </>
  );
}

/** The mistake of a whole entry or section, if it has one. */
export function MistakeNote({ mistake }: { mistake: Mistake | undefined }) {
  if (mistake === undefined) return null;
  return (
    <p className={styles.mistake}>
      <MistakeText mistake={mistake} />
    </p>
  );
}
