/** How far something is; `wide`: along the whole of its place. */
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
