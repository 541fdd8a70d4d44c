/** The launch bar, always in sight: errors or the cost of the experiment, and the Launch button. */
import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { answered, api, type Schemas } from "../../api/client";
import { useMay } from "../../api/session";
import { go, linkTo } from "../../navigation/route";
import { Button } from "../../parts/Button";
import { ErrorNote } from "../../parts/ErrorNote";
import { count } from "../../units";
import styles from "./Launch.module.css";
import { MistakeList } from "./MistakeList";
import { about } from "./Numbers";
import type { Asked, Looked, Preview } from "./preview";
import type { Parsed, TextFault, TextRange } from "./yamlText";

interface Props {
  looked: Looked;
  /** The errors in the text that the page itself finds. */
  faults: readonly TextFault[];
  doc: Parsed["doc"];
  onShow: (range: TextRange) => void;
  launching: Launching;
  /** Whether another experiment is being loaded into the editor. */
  coming: boolean;
}

export interface Launching {
  launch: () => void;
  busy: boolean;
  error: unknown;
}

/** Submits the experiment; launching the same text twice gives one experiment. */
export function useLaunch(asked: Asked | null, allowed: boolean): Launching {
  const key = useRef({ of: "", is: "" });
  const submit = useMutation({
    mutationFn: (body: Asked): Promise<Schemas["Experiment"]> => {
      const of = JSON.stringify(body);
      if (key.current.of !== of) key.current = { of, is: crypto.getRandomValues(new Uint32Array(4)).join("-") };
      const params = { header: { "idempotency-key": key.current.is } };
      return answered(api.POST("/api/v1/experiments", { body, params }));
    },
    onSuccess: (made) => {
      key.current = { of: "", is: "" };
      const run = made.runs[0]?.split("/").at(-1);
      go(linkTo(made.runs.length === 1 && run ? ["runs", run] : ["experiments", made.id]));
    },
  });
  const launch = (): void => {
    if (asked !== null && allowed && !submit.isPending) submit.mutate(asked);
  };
  return { launch, busy: submit.isPending, error: submit.error };
}

export function LaunchBar({ looked, faults, doc, coming, onShow, launching }: Props) {
  const may = useMay("run");
  const { preview, mistakes, trouble, fresh } = looked;
  const wrong = faults.length > 0 || (fresh && mistakes.length > 0);
  return (
    <div className={styles.bar}>
      <div className={styles.status} role="status">
        {trouble ? (
          <span className={styles.wrong}>{trouble.detail || trouble.title}</span>
        ) : faults.length > 0 || mistakes.length > 0 ? (
          <MistakeList faults={faults} mistakes={faults.length > 0 ? [] : mistakes} doc={doc} onShow={onShow} />
        ) : (
          preview && <Cost preview={preview} fresh={fresh} />
        )}
      </div>
      {may ? (
        <Button
          kind="primary"
          onClick={launching.launch}
          busy={launching.busy}
          disabled={coming || wrong || preview === null || (fresh && preview.missing.length > 0)}
          title="Control Enter"
        >
          {preview && preview.runs > 1 ? `Launch ${count(preview.runs)} runs` : "Launch"}{" "}
          <kbd className={styles.kbd}>Ctrl ⏎</kbd>
        </Button>
      ) : (
        <span className={styles.status}>Your token may read but not launch experiments.</span>
      )}
      {launching.error !== null && launching.error !== undefined && <Refused error={launching.error} />}
    </div>
  );
}

function Refused({ error }: { error: unknown }) {
  const [away, setAway] = useState<unknown>(null);
  if (away === error) return null;
  return (
    <div className={styles.refused}>
      <ErrorNote error={error} action={<Button onClick={() => setAway(error)}>Close</Button>} />
    </div>
  );
}

/** The cost of the launch, or what is missing for it. */
function Cost({ preview, fresh }: { preview: Preview; fresh: boolean }) {
  if (preview.missing.length > 0) {
    return (
      <span className={styles.wrong}>
        This backend is not ready: {preview.missing.map((one) => `${one.piece} is missing (${one.remedy})`).join("; ")}
      </span>
    );
  }
  const { kept, runs } = preview;
  const seconds = (preview.wall_estimate_s * (runs - (kept ?? 0))) / runs / Math.max(1, Math.min(preview.slots, runs));
  const parts = [
    `${count(runs)} ${runs === 1 ? "run" : "runs"}`,
    kept === runs ? "kept already: the results appear at once" : kept ? `${count(kept)} of them kept already` : "",
    kept === runs ? "" : `about ${about(seconds)}`,
  ];
  return <span data-fresh={fresh}>{parts.filter(Boolean).join(" · ")}</span>;
}
