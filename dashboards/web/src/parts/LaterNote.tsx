/** The action that can still be undone, below every page: what it is, the seconds that are left, and its result. */
import { useNow } from "../hooks";
import { useStore } from "../store";
import { Button } from "./Button";
import styles from "./LaterNote.module.css";
import { closeLater, doNow, later, undoLater } from "./later";

export function LaterNote() {
  const shown = useStore(later);
  const waits = shown?.state === "waiting";
  const now = useNow(1000, waits);
  if (shown === null) return null;
  return (
    <div className={styles.note}>
      <p role="status">{shown.text}</p>
      {waits && (
        <>
          <span aria-hidden="true" className={styles.left}>
            in {Math.max(1, Math.ceil((shown.at - now) / 1000))} s
          </span>
          <Button kind="primary" onClick={undoLater}>
            Undo
          </Button>
          <Button kind="quiet" onClick={doNow}>
            Now
          </Button>
        </>
      )}
      {shown.state === "over" && (
        <Button kind="quiet" onClick={closeLater}>
          Close
        </Button>
      )}
    </div>
  );
}
