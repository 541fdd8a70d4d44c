/** What changes on the way: moments, and the fields that change at each. */
import { Button } from "../../../parts/Button";
import { seconds, written } from "../durations";
import { mistakeAt } from "../problems";
import { fieldsOf } from "../schema";
import { type Value, valueAt } from "../yamlText";
import { flowEntries, useEdit, write } from "./edit";
import { FieldAt } from "./FieldAt";
import styles from "./Form.module.css";

export function ScheduleSection() {
  const { data, schema, mistakes } = useEdit();
  const found = valueAt(data ?? undefined, ["schedule"]);
  const changes = Array.isArray(found) ? found : [];
  const whole = mistakeAt(mistakes, ["schedule"]);
  const add = (): void => {
    const length = seconds(valueAt(data ?? undefined, ["duration"])) ?? 60;
    const value: Value = {
      at: written(Math.round(length / 2)),
      path: { bandwidth: valueAt(data ?? undefined, ["path", "bandwidth"]) ?? "10 Mbit/s" },
    };
    write(
      changes.length === 0 ? ["schedule"] : ["schedule", changes.length],
      changes.length === 0 ? [value] : value,
      schema,
    );
  };
  return (
    <section className={styles.section} aria-labelledby="form-schedule">
      <div className={styles.heading}>
        <h2 id="form-schedule">Changes on the way</h2>
        <Button onClick={add} disabled={data === null}>
          Add change
        </Button>
      </div>
      {whole && <p className={styles.mistake}>{whole.message}</p>}
      {changes.map((change, position) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a change is its position
        <Change key={position} change={change} position={position} />
      ))}
    </section>
  );
}

function Change({ change, position }: { change: Value; position: number }) {
  const { data, schema, names, mistakes } = useEdit();
  const at = ["schedule", position];
  const known = fieldsOf(schema, [...at, "path"]).filter((name) => name !== "one_way" && name !== "burst");
  const path = Object.keys((valueAt(change, ["path"]) ?? {}) as Record<string, Value>);
  const flows = Object.keys((valueAt(change, ["flows"]) ?? {}) as Record<string, Value>);
  const links = Object.keys((valueAt(change, ["links"]) ?? {}) as Record<string, Value>);
  const free = [
    ...known.filter((name) => !path.includes(name)).map((name) => `path.${name}`),
    ...flowEntries(data)
      .filter((flow) => flow.kind === "tcp" && !flows.includes(flow.name))
      .map((flow) => `flows.${flow.name}.cc`),
  ];
  const whole = mistakeAt(mistakes, at);
  return (
    <fieldset className={styles.flow}>
      <legend className="unseen">Change {position + 1}</legend>
      {whole && <p className={styles.mistake}>{whole.message}</p>}
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
            choices={names.modules.map((one) => one.cc)}
          />
        ))}
      </div>
      {links.length > 0 && <p className={styles.note}>It changes {links.join(", ")} too: in the text.</p>}
      <div className={styles.flowHead}>
        <select
          className={`${styles.control} ${styles.add}`}
          aria-label={`Add a field to change ${position + 1}`}
          value=""
          onChange={(event) => {
            const parts = event.target.value.split(".");
            const now = parts[0] === "path" ? (valueAt(data ?? undefined, parts) ?? "") : "reno";
            write([...at, ...parts], typeof now === "object" ? "" : now, schema);
          }}
        >
          <option value="">Also change …</option>
          {free.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
        <span className={styles.spacer} />
        <Button
          kind="quiet"
          className={styles.small ?? ""}
          aria-label={`Remove change ${position + 1}`}
          onClick={() => write(at, undefined, schema)}
        >
          Remove
        </Button>
      </div>
    </fieldset>
  );
}
