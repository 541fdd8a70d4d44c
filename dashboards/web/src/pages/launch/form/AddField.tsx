/** A choice of what may be added; it goes back to its words as soon as something was chosen. */
import styles from "./Form.module.css";

interface Props {
  label: string;
  words: string;
  free: readonly string[];
  onAdd: (chosen: string) => void;
  disabled?: boolean;
}

export function AddField({ label, words, free, onAdd, disabled = false }: Props) {
  return (
    <select
      className={`${styles.control} ${styles.add}`}
      aria-label={label}
      value=""
      disabled={disabled}
      onChange={(event) => {
        if (event.target.value !== "") onAdd(event.target.value);
      }}
    >
      <option value="">{words}</option>
      {free.map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </select>
  );
}
