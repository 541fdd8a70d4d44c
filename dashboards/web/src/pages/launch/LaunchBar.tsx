/** Launch: what would happen, whether it can, and the button that makes it happen. Always in sight. */
import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { answered, api, type Schemas } from "../../api/client";
import { useMay } from "../../api/session";
import { go, linkTo } from "../../navigation/route";
import { Button } from "../../parts/Button";
import { ErrorNote } from "../../parts/ErrorNote";
import { count } from "../../units";
import styles from "./Launch.module.css";
import { about } from "./Numbers";
import type { Asked, Looked, Preview } from "./preview";
import type { Location } from "./yamlText";

interface Props {
  looked: Looked;
  /** How many mistakes the text has that no service need be asked about. */
  faults: number;
  onShow: (location: Location) => void;
  launching: Launching;
  /** Whether another experiment is about to take the place of this one. */
  coming: boolean;
}

export interface Launching {
  launch: () => void;
  busy: boolean;
  error: unknown;
}

/** Submit what is asked for; the same text pressed twice is one experiment. */
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

export function LaunchBar({ looked, faults, coming, onShow, launching }: Props) {
  const may = useMay("run");
  const { preview, mistakes, trouble, fresh } = looked;
  const wrong = faults + (fresh ? mistakes.length : 0);
  const first = fresh ? mistakes[0] : undefined;
  return (
    <div className={styles.bar}>
      <div className={styles.said} role="status">
        {wrong > 0 ? (
          <button type="button" className={styles.wrong} onClick={() => onShow(first?.location ?? [])}>
            {wrong === 1 ? "1 mistake" : `${wrong} mistakes`}
            {first && `: ${first.location.length > 0 ? `${first.location.join(".")}: ` : ""}${first.message}`}
          </button>
        ) : trouble ? (
          <span className={styles.wrong}>{trouble.detail || trouble.title}</span>
        ) : (
          preview && <Prospect preview={preview} fresh={fresh} />
        )}
      </div>
      {may ? (
        <Button
          kind="primary"
          onClick={launching.launch}
          busy={launching.busy}
          disabled={coming || wrong > 0 || preview === null || (fresh && preview.missing.length > 0)}
          title="Control Enter"
        >
          {preview && preview.runs > 1 ? `Launch ${count(preview.runs)} runs` : "Launch"}{" "}
          <kbd className={styles.kbd}>Ctrl ⏎</kbd>
        </Button>
      ) : (
        <span className={styles.said}>Your token may look, not launch.</span>
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
      <ErrorNote error={error} action={<Button onClick={() => setAway(error)}>Dismiss</Button>} />
    </div>
  );
}

/** What pressing it would do. */
function Prospect({ preview, fresh }: { preview: Preview; fresh: boolean }) {
  if (preview.missing.length > 0) {
    return (
      <span className={styles.wrong}>
        It cannot run there: {preview.missing.map((one) => `${one.piece} is missing (${one.remedy})`).join("; ")}
      </span>
    );
  }
  const { kept, runs } = preview;
  const seconds = (preview.wall_estimate_s * (runs - (kept ?? 0))) / runs / Math.max(1, Math.min(preview.slots, runs));
  const parts = [
    `${count(runs)} ${runs === 1 ? "run" : "runs"}`,
    kept === runs ? "known already: the results are there at once" : kept ? `${count(kept)} of them known already` : "",
    kept === runs ? "" : `about ${about(seconds)}`,
  ];
  return <span data-fresh={fresh}>{parts.filter(Boolean).join(" · ")}</span>;
}
