/** Settings of single links that differ from the topology. */
import { mistakeAt } from "../problems";
import { singleFieldsOf } from "../schema";
import { type Value, valueAt } from "../yamlText";
import { AddField } from "./AddField";
import { entriesOf, useEdit, write } from "./edit";
import { FieldAt } from "./FieldAt";
import styles from "./Form.module.css";
import { MistakeNote } from "./MistakeText";
import { NamedSettings } from "./NamedSettings";
import { RecordingFields } from "./RecordingFields";
import { Remove } from "./Remove";

const RECORDED = ["recording", "reverse_recording"] as const;

export function LinkFields() {
  const { data, preview } = useEdit();
  const bandwidth = valueAt(data, ["path", "bandwidth"]) ?? "10 Mbit/s";
  return (
    <NamedSettings
      field="links"
      title="Single links"
      adding="Set a link"
      known={preview?.drawing.links.map(({ name }) => name) ?? []}
      first={{ bandwidth }}
      each={(name, link) => <OneLink key={name} name={name} link={link} />}
    />
  );
}

function OneLink({ name, link }: { name: string; link: Value }) {
  const { data, schema, mistakes } = useEdit();
  const at = ["links", name];
  const set = entriesOf(link).map(([field]) => field);
  const free = singleFieldsOf(schema, at).filter((field) => !set.includes(field));
  const whole = mistakeAt(mistakes, at);
  const add = (field: string): void => {
    const now = valueAt(data, ["path", field]) ?? "";
    write([...at, field], typeof now === "object" ? "" : now, schema);
  };
  return (
    <fieldset className={styles.flow}>
      <legend className="unseen">Link {name}</legend>
      <div className={styles.flowHead}>
        <strong>{name}</strong>
        <span className={styles.spacer} />
        <AddField label={`Add a field to link ${name}`} prompt="Also set …" free={free} onAdd={add} />
        <Remove at={at} label={`Remove the settings of link ${name}`} />
      </div>
      <MistakeNote mistake={whole} />
      <div className={styles.fields}>
        {set
          .filter((field) => !RECORDED.some((one) => one === field))
          .map((field) => (
            <FieldAt key={field} at={[...at, field]} />
          ))}
      </div>
      {RECORDED.map((field) => (
        <RecordingFields key={field} link={at} field={field} />
      ))}
    </fieldset>
  );
}
