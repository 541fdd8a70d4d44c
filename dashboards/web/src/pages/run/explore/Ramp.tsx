/** The colours of a drawing from the least to the greatest. */
import styles from "./Explore.module.css";

interface Props {
  from: string;
  to: string;
  colours: number;
  colourAt: (share: number) => string;
}

export function Ramp({ from, to, colours, colourAt }: Props) {
  return (
    <p className={styles.ramp}>
      <span>{from}</span>
      <span aria-hidden="true" className={styles.colours}>
        {Array.from({ length: colours }, (_, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: colours in order
          <i key={at} style={{ background: colourAt(at / (colours - 1)) }} />
        ))}
      </span>
      <span>{to}</span>
    </p>
  );
}
