/** Something is on its way: a place of the size that it will have, so that nothing jumps, and a sign only if it takes long. */
import styles from "./Waiting.module.css";

export function Waiting({ label = "Loading", height = "8rem" }: { label?: string; height?: string }) {
  return (
    <div className={styles.waiting} role="status" style={{ minHeight: height }}>
      <span className={styles.sign}>{label} …</span>
    </div>
  );
}
