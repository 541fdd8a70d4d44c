/** What can be done with what is picked: one thing to all of them, and for each that refused why. */
import { useState } from "react";
import { answered, api } from "../../api/client";
import { type Problem, problemOf } from "../../api/problem";
import { useMay } from "../../api/session";
import { Button, LinkButton } from "../../parts/Button";
import { Dialog } from "../../parts/Dialog";
import { ErrorNote } from "../../parts/ErrorNote";
import { linkTo } from "../../shell/hash";
import { useShortcut } from "../../shell/shortcuts";
import { count } from "../../units";
import styles from "./Runs.module.css";
import { type ExperimentRow, isLive, type RunRow, type View } from "./view";

interface Props {
  what: View["what"];
  picked: readonly string[];
  rows: readonly (RunRow | ExperimentRow)[];
  change: (change: Partial<View>) => void;
  again: () => void;
}

type Deed = "pin" | "unpin" | "rerun" | "delete" | "cancel";

// So many requests at a time.
const AT_ONCE = 4;

const DEEDS: Record<Deed, (id: string, what: View["what"]) => Promise<unknown>> = {
  pin: (id) => answered(api.PUT("/api/v1/runs/{id}/pin", { params: { path: { id } } })),
  unpin: (id) => answered(api.DELETE("/api/v1/runs/{id}/pin", { params: { path: { id } } })),
  rerun: (id) => answered(api.POST("/api/v1/runs/{id}/rerun", { params: { path: { id } } })),
  cancel: (id) => answered(api.POST("/api/v1/experiments/{id}/cancel", { params: { path: { id } } })),
  delete: (id, what) =>
    what === "runs"
      ? answered(api.DELETE("/api/v1/runs/{id}", { params: { path: { id } } }))
      : answered(api.DELETE("/api/v1/experiments/{id}", { params: { path: { id } } })),
};

export function Bulk({ what, picked, rows, change, again }: Props) {
  const may = useMay("run");
  const [busy, setBusy] = useState<Deed | null>(null);
  const [asking, setAsking] = useState(false);
  const [refused, setRefused] = useState<readonly (readonly [string, Problem])[]>([]);
  const runs = what === "runs";
  const known = rows.filter((row) => picked.includes(row.id));
  const pinned = known.length > 0 && known.every((row) => "pinned" in row && row.pinned);
  const live = known.some(isLive);
  const act = async (deed: Deed): Promise<void> => {
    setAsking(false);
    setBusy(deed);
    const failed = await toEach(picked, (id) => DEEDS[deed](id, what));
    setBusy(null);
    setRefused(failed);
    if (deed === "delete") change({ picked: failed.map(([id]) => id) });
    again();
  };
  useShortcut("p", pinned ? "Unpin what is picked" : "Pin what is picked", () => void act(pinned ? "unpin" : "pin"), {
    group: "List",
    enabled: may && runs,
  });
  const noun = `${count(picked.length)} ${picked.length === 1 ? what.slice(0, -1) : what}`;
  return (
    <div role="toolbar" aria-label="What to do with what is picked" className={styles.bulk}>
      <span role="status">{noun}</span>
      {runs && picked.length > 1 && (
        <LinkButton kind="primary" href={linkTo(["compare"], `runs=${picked.join(",")}`)}>
          Compare
        </LinkButton>
      )}
      {!runs && picked.length === 1 && (
        <LinkButton href={linkTo(["compare"], `show=map&experiment=${picked[0]}`)}>Map of its sweep</LinkButton>
      )}
      {may && runs && (
        <>
          <Button busy={busy === "pin" || busy === "unpin"} onClick={() => void act(pinned ? "unpin" : "pin")}>
            {pinned ? "Unpin" : "Pin"}
          </Button>
          <Button busy={busy === "rerun"} onClick={() => void act("rerun")}>
            Run again
          </Button>
        </>
      )}
      {may && !runs && live && (
        <Button busy={busy === "cancel"} onClick={() => void act("cancel")}>
          Cancel
        </Button>
      )}
      {may && (
        <Button kind="danger" busy={busy === "delete"} onClick={() => setAsking(true)}>
          Delete
        </Button>
      )}
      <Button kind="quiet" onClick={() => change({ picked: [] })}>
        Pick none
      </Button>
      {asking && (
        <Dialog title={`Delete ${noun}?`} onClose={() => setAsking(false)}>
          <p>
            {runs
              ? "Their traces go with them. Pinned runs, and those that a baseline or an experiment that goes on needs, stay."
              : "Their runs stay: others may want them. What still goes on has to be cancelled first."}
          </p>
          <div className={styles.asks}>
            <Button onClick={() => setAsking(false)}>Keep</Button>
            <Button kind="danger" onClick={() => void act("delete")}>
              Delete {noun}
            </Button>
          </div>
        </Dialog>
      )}
      {refused.length > 0 && (
        <Dialog title={`${count(refused.length)} refused`} onClose={() => setRefused([])}>
          <div className={styles.told}>
            {refused.map(([id, problem]) => (
              <ErrorNote key={id} error={problem} />
            ))}
          </div>
          <div className={styles.asks}>
            <Button onClick={() => setRefused([])}>Close</Button>
          </div>
        </Dialog>
      )}
    </div>
  );
}

/** What did not work, with why. */
async function toEach(ids: readonly string[], act: (id: string) => Promise<unknown>) {
  const waiting = [...ids];
  const failed: (readonly [string, Problem])[] = [];
  const worker = async (): Promise<void> => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      try {
        await act(id);
      } catch (error) {
        failed.push([id, problemOf(error)]);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return failed;
}
