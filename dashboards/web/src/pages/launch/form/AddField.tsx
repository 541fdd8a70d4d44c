/** A list of fields to add; after a choice it shows its label again. */
import { Select } from "../../../parts/Select";
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
    <Select
      className={`${styles.control} ${styles.add}`}
      aria-label={label}
      value=""
      disabled={disabled}
      choices={[["", prompt], ...free]}
      onChange={(chosen) => chosen !== "" && onAdd(chosen)}
    />
  );
}
