/** A placeholder with the size of the content, so that nothing jumps; its label appears only after a while. */
import styles from "./Waiting.module.css";

export function Waiting({ label = "Loading", height = "8rem" }: { label?: string; height?: string }) {
  return (
    <div className={styles.waiting} role="status" style={{ minHeight: height }}>
      <span className={styles.sign}>{label} …</span>
    </div>
  );
}
