/** The refused runs or experiments: one note for each reason. */

import type { View } from "../../data/runList";
import { linkTo } from "../../navigation/hash";
import { Button } from "../../parts/Button";
import { Dialog } from "../../parts/Dialog";
import { ErrorNote } from "../../parts/ErrorNote";
import { count } from "../../units";
import { type Refusal, reasonsOf } from "./acting";
import styles from "./Runs.module.css";

interface Props {
  what: View["what"];
  refused: readonly Refusal[];
  onClose: () => void;
}

export function Refused({ what, refused, onClose }: Props) {
  return (
    <Dialog title={`${count(refused.length)} refused`} onClose={onClose}>
      <div className={styles.reasons}>
        {reasonsOf(refused).map(({ problem, ids }) => (
          <ErrorNote key={ids[0]} error={problem} action={ids.length > 1 && <Others what={what} ids={ids} />} />
        ))}
      </div>
      <div className="asks">
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}

function Others({ what, ids }: { what: View["what"]; ids: readonly string[] }) {
  return (
    <details>
      <summary>
        The same for {count(ids.length)} {what}
      </summary>
      <ul className={styles.ids}>
        {ids.map((id) => (
          <li key={id}>
            <a href={linkTo([what, id])}>
              <code>{id}</code>
            </a>
          </li>
        ))}
      </ul>
    </details>
  );
}
