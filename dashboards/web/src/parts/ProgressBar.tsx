/** A progress bar; `wide`: across the full width. */
import styles from "./ProgressBar.module.css";

interface Props {
  value: number;
  max: number;
  label: string;
  wide?: boolean;
}

export function ProgressBar({ value, max, label, wide = false }: Props) {
  return <progress className={styles.bar} data-wide={wide} value={value} max={max} aria-label={label} />;
}
