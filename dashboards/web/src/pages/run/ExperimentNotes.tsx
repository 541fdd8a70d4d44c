/** The notes on an experiment, folded by kind, so that its result comes first: each kind opens to its points. */
import type { Schemas } from "../../api/client";
import { pointText } from "../../data/runDocument";
import { kindsOf } from "../../parts/kinds";
import { Notes } from "../../parts/Notes";
import { count } from "../../units";
import styles from "./ExperimentNotes.module.css";

type Note = Schemas["Note"];

export function ExperimentNotes({ notes }: { notes: readonly Note[] }) {
  const kinds = kindsOf(notes, (note) => note.text);
  const [first] = kinds;
  if (first === undefined) return null;
  // A single sentence about all of it needs no more room than its fold.
  if (notes.length === 1 && first[0].points.length < 2) return <Notes notes={[first[0].text]} />;
  return (
    <details className={styles.notes}>
      <summary>{headOf(kinds.length, pointsOf(notes))}</summary>
      <ul aria-label="Notes">
        {kinds.map((kind) => (
          <li key={kind[0].text}>
            <Kind notes={kind} />
          </li>
        ))}
      </ul>
    </details>
  );
}

function Kind({ notes }: { notes: readonly [Note, ...Note[]] }) {
  const [first] = notes;
  const points = pointsOf(notes);
  if (points.length === 0) return first.text;
  const isAlike = notes.length === 1;
  return (
    <details>
      <summary>
        {first.text} ({ofPoints(points.length)})
      </summary>
      <ul className={styles.points}>
        {isAlike
          ? points.map((point) => <li key={point}>{point}</li>)
          : notes.map((note) => (
              <li key={note.text}>
                <strong>{pointsOf([note]).join("; ")}</strong> {note.text}
              </li>
            ))}
      </ul>
    </details>
  );
}

/** Each point once, as text. */
function pointsOf(notes: readonly Note[]): string[] {
  return [...new Set(notes.flatMap(({ points }) => points.map(pointText)))].filter(Boolean);
}

function headOf(kinds: number, points: readonly string[]): string {
  const head = `${count(kinds)} ${kinds === 1 ? "kind" : "kinds"} of notes`;
  return points.length === 0 ? head : `${head}, ${ofPoints(points.length)}`;
}

const ofPoints = (points: number): string => `${count(points)} ${points === 1 ? "point" : "points"}`;
