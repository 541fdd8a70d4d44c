/** Scheduled changes: times, and the fields that change then. */
import { Button } from "../../../parts/Button";
import { controlNames } from "../controls";
import { seconds, written } from "../durations";
import { mistakeAt } from "../problems";
import { singleFieldsOf } from "../schema";
import { type Value, valueAt } from "../yamlText";
import { AddField } from "./AddField";
import { append, entriesOf, flowEntries, useEdit, write } from "./edit";
import { FieldAt, labelOf } from "./FieldAt";
import styles from "./Form.module.css";
import { ListSection } from "./ListSection";
import { MistakeNote } from "./MistakeText";
import { Remove } from "./Remove";

export function ScheduleSection() {
  const { data, schema } = useEdit();
  const found = valueAt(data, ["schedule"]);
  const changes = Array.isArray(found) ? found : [];
  const add = (): void => {
    const length = seconds(valueAt(data, ["duration"])) ?? 60;
    const bandwidth = valueAt(data, ["path", "bandwidth"]) ?? "10 Mbit/s";
    append("schedule", changes.length, { at: written(Math.round(length / 2)), path: { bandwidth } }, schema);
  };
  return (
    <ListSection
      field="schedule"
      title="Scheduled changes"
      adding={
        <Button onClick={add} disabled={data === null}>
          Add change
        </Button>
      }
    >
      {changes.map((change, position) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a change is identified by its position
        <Change key={position} change={change} position={position} />
      ))}
    </ListSection>
  );
}

function Change({ change, position }: { change: Value; position: number }) {
  const { data, schema, names, mistakes, preview } = useEdit();
  const at = ["schedule", position];
  const known = singleFieldsOf(schema, [...at, "path"]);
  const namesIn = (part: string): string[] => entriesOf(valueAt(change, [part])).map(([name]) => name);
  const [path, flows] = [namesIn("path"), namesIn("flows")];
  const links = entriesOf(valueAt(change, ["links"])).flatMap(([link, set]) =>
    entriesOf(set).map(([field]) => ({ link, field })),
  );
  const ofLinks = singleFieldsOf(schema, [...at, "links", ""]);
  const free = [
    ...known.filter((name) => !path.includes(name)).map((name) => `path.${name}`),
    ...flowEntries(data, schema)
      .filter((flow) => flow.kind === "tcp" && !flows.includes(flow.name))
      .map((flow) => `flows.${flow.name}.cc`),
    ...(preview?.drawing.links ?? []).flatMap(({ name }) =>
      ofLinks
        .filter((field) => !links.some((one) => one.link === name && one.field === field))
        .map((field) => `links.${name}.${field}`),
    ),
  ];
  const add = (chosen: string): void => {
    const parts = chosen.split(".");
    const now = parts[0] === "flows" ? "reno" : (valueAt(data, ["path", parts.at(-1) ?? ""]) ?? "");
    write([...at, ...parts], typeof now === "object" ? "" : now, schema);
  };
  const whole = mistakeAt(mistakes, at);
  return (
    <fieldset className={styles.flow}>
      <legend className="unseen">Change {position + 1}</legend>
      <MistakeNote mistake={whole} />
      <div className={styles.fields}>
        <FieldAt at={[...at, "at"]} />
        {path.map((name) => (
          <FieldAt key={name} at={[...at, "path", name]} />
        ))}
        {flows.map((name) => (
          <FieldAt
            key={name}
            at={[...at, "flows", name, "cc"]}
            label={`${name}: congestion control`}
            choices={controlNames(names, data)}
          />
        ))}
        {links.map(({ link, field }) => (
          <FieldAt
            key={`${link} ${field}`}
            at={[...at, "links", link, field]}
            label={`${link}: ${labelOf([field]).toLowerCase()}`}
          />
        ))}
      </div>
      <div className={styles.flowHead}>
        <AddField label={`Add a field to change ${position + 1}`} prompt="Also change …" free={free} onAdd={add} />
        <span className={styles.spacer} />
        <Remove at={at} label={`Remove change ${position + 1}`} />
      </div>
    </fieldset>
  );
}
