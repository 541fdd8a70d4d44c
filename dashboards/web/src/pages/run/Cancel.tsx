/** Cancelling: at once where nothing is lost, else after a question that says what is. */
import { useState } from "react";
import { Button } from "../../parts/Button";
import { Dialog } from "../../parts/Dialog";
import styles from "./RunPage.module.css";

/** What takes no longer is made again in a moment. */
const SHORT_S = 10;

interface Props {
  name: string;
  runs: number;
  /** Of the longest run. */
  virtualS: number;
  busy: boolean;
  onCancel: () => void;
}

export function CancelButton({ name, runs, virtualS, busy, onCancel }: Props) {
  const [asking, setAsking] = useState(false);
  const asks = runs > 1 || virtualS > SHORT_S;
  return (
    <>
      <Button
        kind="danger"
        busy={busy}
        title={`Cancels the experiment ${name}`}
        onClick={() => (asks ? setAsking(true) : onCancel())}
      >
        Cancel
      </Button>
      {asking && (
        <Dialog title={`Cancel ${name}?`} onClose={() => setAsking(false)}>
          <p>
            {runs > 1 ? "Runs that have ended stay. Those that have not are given up." : "The run is given up."} What a
            run on this machine has simulated until then stays as a partial trace, which counts as no result.
          </p>
          <div className={styles.asks}>
            <Button onClick={() => setAsking(false)}>Let it run</Button>
            <Button
              kind="danger"
              onClick={() => {
                setAsking(false);
                onCancel();
              }}
            >
              Cancel {runs > 1 ? "the experiment" : "the run"}
            </Button>
          </div>
        </Dialog>
      )}
    </>
  );
}
