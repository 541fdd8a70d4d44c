/** Removes a part of the experiment; `label` names the part for screen readers. */
import { Button } from "../../../parts/Button";
import type { Location } from "../yamlText";
import { useEdit, write } from "./edit";
import styles from "./Form.module.css";

export function Remove({ at, label }: { at: Location; label: string }) {
  const { schema } = useEdit();
  return (
    <Button kind="quiet" className={styles.small ?? ""} aria-label={label} onClick={() => write(at, undefined, schema)}>
      Remove
    </Button>
  );
}
