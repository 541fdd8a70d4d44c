/** What an experiment's author should know of it before its numbers are believed; nothing where there is nothing to say. */
import styles from "./Notes.module.css";

export function Notes({ notes }: { notes: readonly string[] }) {
  if (notes.length === 0) return null;
  return (
    <ul className={styles.notes} aria-label="Notes">
      {notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}
