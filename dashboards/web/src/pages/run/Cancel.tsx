/** Cancels an experiment: at once if nothing is lost, otherwise after a confirmation. */
import { useState } from "react";
import { Button } from "../../parts/Button";
import { Dialog } from "../../parts/Dialog";

/** A shorter run is simulated again in a moment. */
const SHORT_S = 10;

interface Props {
  name: string;
  runs: number;
  /** The virtual time of the longest run. */
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
            {runs > 1 ? "Runs that have ended are kept. The others are cancelled." : "The run is cancelled."} A run on
            this machine leaves a partial trace of its time until then, which is not a result.
          </p>
          <div className="asks">
            <Button onClick={() => setAsking(false)}>Go back</Button>
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
