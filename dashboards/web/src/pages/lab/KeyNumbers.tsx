/** A few key numbers in large type. */
import styles from "./Lab.module.css";

export function KeyNumbers({ numbers }: { numbers: readonly (readonly [name: string, value: string])[] }) {
  return (
    <dl className={styles.numbers}>
      {numbers.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
