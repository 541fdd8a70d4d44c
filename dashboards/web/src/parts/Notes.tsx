/** What an experiment's author should know of it before its numbers are believed; nothing where there is nothing to say. */
import { count } from "../units";
import { kindsOf } from "./kinds";
import styles from "./Notes.module.css";

/** So many are read; more say the same of other points. */
const MOST_OPEN = 3;

export function Notes({ notes }: { notes: readonly string[] }) {
  if (notes.length === 0) return null;
  if (notes.length <= MOST_OPEN) return <List notes={notes} />;
  const kinds = kindsOf(notes);
  return (
    <div className={styles.folded}>
      <List notes={kinds.map(({ first, more }) => (more > 0 ? `${first} (and ${count(more)} more like it)` : first))} />
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
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}
