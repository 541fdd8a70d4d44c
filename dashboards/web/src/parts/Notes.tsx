/** Notes on an experiment that its author should read before trusting the numbers; empty without notes. */
import { count } from "../units";
import { kindsOf } from "./kinds";
import styles from "./Notes.module.css";

/** More notes than this are grouped: they usually repeat the same note for other points. */
const MOST_OPEN = 3;

export function Notes({ notes }: { notes: readonly string[] }) {
  if (notes.length === 0) return null;
  if (notes.length <= MOST_OPEN) return <List notes={notes} />;
  const kinds = kindsOf(notes, (note) => note);
  return (
    <div className={styles.folded}>
      <List
        notes={kinds.map(([first, ...more]) =>
          more.length > 0 ? `${first} (and ${count(more.length)} more like it)` : first,
        )}
      />
      {kinds.length < notes.length && (
        <details>
          <summary>
            All {count(notes.length)} notes, of {count(kinds.length)} {kinds.length === 1 ? "kind" : "kinds"}
          </summary>
          <List notes={notes} />
        </details>
      )}
    </div>
  );
}

function List({ notes }: { notes: readonly string[] }) {
  return (
    <ul className={styles.notes} aria-label="Notes">
      {notes.map((note) => (
        <li key={note} className="warned">
          {note}
        </li>
      ))}
    </ul>
  );
}
