/** A change with its interval, on a line with 0 in the middle. */
import styles from "./Compare.module.css";

interface Props {
  effect: number | null;
  low: number | null;
  high: number | null;
  /** The effect at the ends of the line. */
  most: number;
  label: string;
}

const [WIDTH, HEIGHT] = [160, 16];

export function Forest({ effect, low, high, most, label }: Props) {
  if (effect === null) return null;
  const at = (value: number): number => WIDTH / 2 + Math.max(-1, Math.min(1, value / most)) * (WIDTH / 2 - 6);
  return (
    <svg width={WIDTH} height={HEIGHT} role="img" aria-label={label} className={styles.forest}>
      <title>{label}</title>
      <path d={`M0 ${HEIGHT / 2}H${WIDTH}`} stroke="var(--line)" />
      <path d={`M${WIDTH / 2} 1V${HEIGHT - 1}`} stroke="var(--line-strong)" />
      {low !== null && high !== null && (
        <path
          d={`M${at(low)} ${HEIGHT / 2}H${at(high)}`}
          stroke="var(--accent)"
          strokeWidth="3"
          strokeLinecap="round"
        />
      )}
      <circle cx={at(effect)} cy={HEIGHT / 2} r="4" fill="var(--accent)" stroke="var(--surface)" strokeWidth="1.5" />
    </svg>
  );
}
