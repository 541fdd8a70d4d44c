/** Pages through the selected runs, if they are more than can be drawn at once. */
import { Button } from "../../parts/Button";
import { count } from "../../units";
import styles from "./Chooser.module.css";
import { type Drawn, MOST_RUNS } from "./drawn";

interface Props {
  all: number;
  drawn: Drawn;
  onLeaf: (from: number) => void;
  onAnew: () => void;
}

export function Leaf({ all, drawn, onLeaf, onAnew }: Props) {
  const { first, ids } = drawn;
  return (
    <div className={styles.leaf}>
      <p role="status">
        Showing runs {count(first + 1)} to {count(first + ids.length)} of {count(all)} selected: at most {MOST_RUNS}{" "}
        colours can be distinguished.
      </p>
      <Button disabled={first === 0} onClick={() => onLeaf(first - MOST_RUNS)}>
        Previous {MOST_RUNS}
      </Button>
      <Button disabled={first + ids.length >= all} onClick={() => onLeaf(first + MOST_RUNS)}>
        Next {Math.max(1, Math.min(MOST_RUNS, all - first - MOST_RUNS))}
      </Button>
      <Button kind="quiet" onClick={onAnew}>
        Select others
      </Button>
    </div>
  );
}
