/** Asks for confirmation: the action, the number of runs or experiments, and the consequences. */

import type { View } from "../../data/runList";
import { Button } from "../../parts/Button";
import { Dialog } from "../../parts/Dialog";

export type Asked = "rerun" | "delete" | "cancel";

/** Fewer reruns than this need no confirmation. */
export const ASKED_FROM = 50;

const QUESTIONS: Record<Asked, { verb: string; keep: string; about: (what: View["what"]) => string }> = {
  rerun: {
    verb: "Rerun",
    keep: "Go back",
    about: () => "Each rerun is queued as a separate experiment and simulated again. Only kept runs can be rerun.",
  },
  delete: {
    verb: "Delete",
    keep: "Go back",
    about: (what) =>
      what === "runs"
        ? "This deletes their traces too, and can be undone for some seconds. Pinned runs, and runs that a baseline or a running experiment needs, are not deleted."
        : "Their runs are kept, because other experiments may need them. Cancel running experiments first.",
  },
  cancel: {
    verb: "Cancel",
    keep: "Go back",
    about: () => "Runs that have ended are kept. The others are cancelled; their partial traces are not results.",
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
      <div className="asks">
        <Button onClick={onClose}>{keep}</Button>
        <Button kind={asked === "rerun" ? "primary" : "danger"} onClick={onYes}>
          {verb} {noun}
        </Button>
      </div>
    </Dialog>
  );
}
