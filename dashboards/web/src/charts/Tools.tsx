/** What every chart and drawing offers beside its name: its values as a table, and its files. */
import { Button } from "../parts/Button";
import { Menu } from "../parts/Menu";
import styles from "./Chart.module.css";
import { FORMS, type Form } from "./exporting";

interface Props {
  title: string;
  asTable: boolean;
  onTable: (asTable: boolean) => void;
  onSave: (form: Form) => void;
}

export function Tools({ title, asTable, onTable, onSave }: Props) {
  return (
    <>
      <button
        type="button"
        className={styles.tool}
        aria-pressed={asTable}
        aria-label={`Show ${title} as a table`}
        onClick={() => onTable(!asTable)}
      >
        Table
      </button>
      <Menu label={`Save ${title}`} name={<span className={styles.tool}>Save</span>}>
        {FORMS.map((form) => (
          <button key={form} type="button" className={styles.form} onClick={() => onSave(form)}>
            {form.toUpperCase()}
          </button>
        ))}
      </Menu>
    </>
  );
}

/** The files of a drawing that has no head of its own. */
export function SaveButtons({ onSave }: Pick<Props, "onSave">) {
  return FORMS.map((form) => (
    <Button key={form} kind="quiet" onClick={() => onSave(form)}>
      {form.toUpperCase()}
    </Button>
  ));
}
