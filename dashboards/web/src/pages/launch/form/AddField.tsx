/** A list of fields to add; after a choice it shows its label again. */
import styles from "./Form.module.css";

interface Props {
  label: string;
  prompt: string;
  free: readonly string[];
  onAdd: (chosen: string) => void;
  disabled?: boolean;
}

export function AddField({ label, prompt, free, onAdd, disabled = false }: Props) {
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
      <option value="">{prompt}</option>
      {free.map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </select>
  );
}
