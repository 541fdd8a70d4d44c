/** Are you sure: what will be done, to how many, and what comes of it. */

import type { View } from "../../data/runList";
import { Button } from "../../parts/Button";
import { Dialog } from "../../parts/Dialog";
import styles from "./Runs.module.css";

export type Asked = "rerun" | "delete" | "cancel";

/** So many are run again without a question. */
export const ASKED_FROM = 50;

const QUESTIONS: Record<Asked, { verb: string; keep: string; about: (what: View["what"]) => string }> = {
  rerun: {
    verb: "Run again",
    keep: "Leave it",
    about: () => "Each becomes an experiment of its own in the queue, and is computed anew. Only kept runs can be.",
  },
  delete: {
    verb: "Delete",
    keep: "Keep",
    about: (what) =>
      what === "runs"
        ? "Their traces go with them. Pinned runs, and those that a baseline or an experiment that goes on needs, stay."
        : "Their runs stay: others may want them. What still goes on has to be cancelled first.",
  },
  cancel: {
    verb: "Cancel",
    keep: "Let them run",
    about: () =>
      "Runs that have ended stay. Those that have not are given up, and their partial traces count as no result.",
  },
};

interface Props {
  asked: Asked;
  what: View["what"];
  /** As in "3 runs". */
  noun: string;
  onClose: () => void;
  onYes: () => void;
}

export function Asks({ asked, what, noun, onClose, onYes }: Props) {
  const { verb, keep, about } = QUESTIONS[asked];
  return (
    <Dialog title={`${verb} ${noun}?`} onClose={onClose}>
      <p>{about(what)}</p>
      <div className={styles.asks}>
        <Button onClick={onClose}>{keep}</Button>
        <Button kind={asked === "rerun" ? "primary" : "danger"} onClick={onYes}>
          {verb} {noun}
        </Button>
      </div>
    </Dialog>
  );
}
