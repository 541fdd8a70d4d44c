/** The errors of the text in the launch bar: the first of them; a press shows the error, or the list of several with their corrections. */
import { useId, useState } from "react";
import { MistakeText } from "./form/MistakeText";
import styles from "./Launch.module.css";
import { placeOf } from "./mending";
import type { Mistake } from "./problems";
import type { Parsed, TextFault, TextRange } from "./yamlText";

interface Props {
  faults: readonly TextFault[];
  mistakes: readonly Mistake[];
  doc: Parsed["doc"];
  onShow: (range: TextRange) => void;
}

interface Row {
  range: TextRange;
  /** The field, as the text writes it; empty for the whole experiment. */
  field: string;
  message: string;
  mistake: Mistake | null;
}

export function MistakeList({ faults, mistakes, doc, onShow }: Props) {
  const [open, setOpen] = useState(false);
  const id = useId();
  const rows: readonly Row[] = [
    ...faults.map((fault) => ({ range: fault, field: "", message: fault.message, mistake: null })),
    ...mistakes.map((mistake) => ({
      range: placeOf(doc, mistake),
      field: mistake.field,
      message: mistake.message,
      mistake,
    })),
  ];
  const [first] = rows;
  if (first === undefined) return null;
  const several = rows.length > 1;
  return (
    <>
      <button
        type="button"
        className={styles.wrong}
        aria-expanded={several ? open : undefined}
        aria-controls={several ? id : undefined}
        onClick={() => (several ? setOpen(!open) : onShow(first.range))}
        onKeyDown={(event) => event.key === "Escape" && setOpen(false)}
      >
        {several ? `${rows.length} errors` : "1 error"}: {first.field !== "" && `${first.field}: `}
        {first.message}
      </button>
      {several && open && (
        <ul id={id} className={styles.mistakes} aria-label="Errors">
          {rows.map(({ range, field, message, mistake }) => (
            <li key={`${field} ${message}`}>
              <button type="button" onClick={() => onShow(range)}>
                {field || "text"}
              </button>
              {mistake === null ? message : <MistakeText mistake={mistake} />}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
