/** A banner with the conditions in which the compared runs differ: their measures may differ because of them. */
import styles from "./Compare.module.css";
import type { Differing } from "./conditions";

// More values than this are counted.
const MOST_VALUES = 4;

export function InputDifferences({ differing }: { differing: readonly Differing[] }) {
  if (differing.length === 0) return null;
  return (
    <p role="note" className={styles.differing}>
      <strong>The inputs of these runs differ in:</strong>{" "}
      {differing.map(({ field, values }) => `${field}${listed(values)}`).join(", ")}.
    </p>
  );
}

/** " (40 ms and 80 ms)" */
function listed(values: readonly string[]): string {
  if (values.length === 0) return "";
  const shown = values.slice(0, MOST_VALUES);
  const more = values.length - shown.length;
  const last = more > 0 ? `${more} more` : shown.pop();
  return ` (${shown.length > 0 ? `${shown.join(", ")} and ` : ""}${last})`;
}
