/** A labelled control with its help and its error, which screen readers announce. The render function gets the control's id. */
import { type ComponentProps, type InputHTMLAttributes, type ReactNode, useId } from "react";
import styles from "./Field.module.css";
import { Select } from "./Select";

interface About {
  label: string;
  help?: ReactNode;
  /** The error in the current value. */
  mistake?: string | null | undefined;
}

interface Wiring {
  id: string;
  "aria-describedby": string;
  "aria-invalid": boolean;
  className: string;
}

export function Field({ label, help, mistake, children }: About & { children: (wiring: Wiring) => ReactNode }) {
  const id = useId();
  return (
    <div className={styles.field}>
      <label htmlFor={id} className={styles.label}>
        {label}
      </label>
      {children({
        id,
        "aria-describedby": `${id}-about`,
        "aria-invalid": Boolean(mistake),
        className: styles.control ?? "",
      })}
      <div id={`${id}-about`} className={mistake ? styles.mistake : styles.help} aria-live="polite">
        {mistake || help}
      </div>
    </div>
  );
}

interface TextProps extends About, Omit<InputHTMLAttributes<HTMLInputElement>, "onChange"> {
  onText: (text: string) => void;
}

export function TextField({ label, help, mistake, onText, ...input }: TextProps) {
  const plain = { type: "text", spellCheck: false, autoComplete: "off" };
  return (
    <Field label={label} help={help} mistake={mistake}>
      {(wiring) => <input {...plain} {...input} {...wiring} onChange={({ target }) => onText(target.value)} />}
    </Field>
  );
}

export function SelectField<T extends string | number>({
  label,
  help,
  ...select
}: About & ComponentProps<typeof Select<T>>) {
  return (
    <Field label={label} help={help}>
      {(wiring) => <Select {...select} {...wiring} />}
    </Field>
  );
}

interface FileProps extends About, Omit<ComponentProps<"input">, "onChange"> {
  onFiles: (files: readonly File[]) => void;
}

/** Another key empties it. */
export function FileField({ label, help, onFiles, ...input }: FileProps) {
  return (
    <Field label={label} help={help}>
      {(wiring) => (
        <input {...input} {...wiring} type="file" onChange={({ target }) => onFiles([...(target.files ?? [])])} />
      )}
    </Field>
  );
}
