/** One flow: its traffic, times and parameters; the swatch shows its line in charts. */

import { Button } from "../../../parts/Button";
import { flowStyle } from "../../../theme/palette";
import { useTheme } from "../../../theme/theme";
import { controlOf } from "../catalogue";
import { controlNames } from "../controls";
import { mistakeAt } from "../problems";
import { fieldsOf, trafficOf } from "../schema";
import { type Value, valueAt } from "../yamlText";
import { ChoiceField } from "./ChoiceField";
import { append, type FlowEntry, numberOrText, useEdit, write } from "./edit";
import { FieldAt } from "./FieldAt";
import styles from "./Form.module.css";
import { changeControl, nameAfter } from "./flowNames";
import { MistakeNote } from "./MistakeText";
import { Remove } from "./Remove";

const BULK: Record<string, Value> = { cc: "cubic" };
const TCP_ONLY = [
  "rtt",
  "size",
  "window",
  "sack",
  "ecn",
  "recovery",
  "hystart",
  "initial_window",
  "delayed_ack",
  "variant",
] as const;
const PLAIN = ["spread", "ect"] as const;
const ANY = ["sender", "receiver", "tool"] as const;

export function FlowCard({ entry, taken }: { entry: FlowEntry; taken: readonly string[] }) {
  const { data, names, schema, mistakes } = useEdit();
  const theme = useTheme();
  const at = ["flows", entry.position];
  const style = flowStyle(entry.position, theme);
  const whole = mistakeAt(mistakes, at);
  const has = (name: string): boolean => valueAt(entry.value, [name]) !== undefined;
  const used = [...TCP_ONLY, ...ANY, ...PLAIN].filter(has).length;
  const hidden = [...TCP_ONLY, ...ANY, ...PLAIN].some((name) => mistakeAt(mistakes, [...at, name], { below: true }));
  const kinds = trafficOf(schema);
  const isTcp = kinds[entry.kind]?.kind !== "udp";
  const parts = entry.kind in kinds ? fieldsOf(schema, [...at, entry.kind]) : [];
  const become = (kind: string): void => {
    const start = kinds[kind]?.start;
    const kept = Object.fromEntries(
      ["name", "start", "stop", "count"].filter(has).map((name) => [name, valueAt(entry.value, [name]) ?? null]),
    );
    write(at, { ...kept, ...(start === undefined ? BULK : { [kind]: start }) }, schema);
  };
  const copy = (): void => {
    const value = { ...(entry.value as Record<string, Value>), name: nameAfter(entry.cc || entry.name, taken) };
    append("flows", taken.length, value, schema);
  };
  return (
    <fieldset className={styles.flow}>
      <legend className="unseen">Flow {entry.name}</legend>
      <div className={styles.flowHead}>
        <svg className={styles.swatch} aria-hidden="true">
          <line
            x1="0"
            y1="5"
            x2="30"
            y2="5"
            stroke={style.variable}
            strokeWidth="3"
            strokeDasharray={style.dash.join(" ")}
          />
        </svg>
        <strong>{entry.name}</strong>
        <span className={styles.spacer} />
        <Button kind="quiet" className={styles.small ?? ""} onClick={copy} aria-label={`Duplicate flow ${entry.name}`}>
          Duplicate
        </Button>
        <Remove at={at} label={`Remove flow ${entry.name}`} />
      </div>
      <MistakeNote mistake={whole} />
      <div className={styles.fields}>
        <FieldAt at={[...at, "name"]} />
        <ChoiceField
          label="Kind"
          value={entry.kind}
          choices={[["tcp", "TCP"], ...Object.entries(kinds).map(([kind, { name }]) => [kind, name] as const)]}
          onChange={become}
        />
        {isTcp && (
          <FieldAt
            at={[...at, "cc"]}
            choices={controlNames(names, data)}
            help={controlOf(names, entry.cc)?.about ?? ""}
            onPick={(cc) => changeControl(entry, cc, taken, schema)}
          />
        )}
        {entry.kind in kinds && parts.length === 0 && <FieldAt at={[...at, entry.kind]} />}
        {parts.map((part) => (
          <FieldAt key={part} at={[...at, entry.kind, part]} />
        ))}
        <FieldAt at={[...at, "start"]} />
        <FieldAt at={[...at, "stop"]} placeholder="end of the run" />
        <FieldAt at={[...at, "count"]} />
      </div>
      <Parameters entry={entry} />
      <details className={styles.more} open={hidden || undefined}>
        <summary>Hosts, size, ECN, TCP options{used > 0 ? ` (${used} set)` : ""}</summary>
        <div className={styles.fields}>
          {PLAIN.map((name) => (
            <FieldAt key={name} at={[...at, name]} />
          ))}
          {isTcp && TCP_ONLY.map((name) => <FieldAt key={name} at={[...at, name]} />)}
          {ANY.map((name) => (
            <Hosted key={name} at={[...at, name]} name={name} />
          ))}
        </div>
      </details>
    </fieldset>
  );
}

function Hosted({ at, name }: { at: readonly (string | number)[]; name: string }) {
  const { preview } = useEdit();
  return name === "tool" ? (
    <FieldAt at={at} />
  ) : (
    <FieldAt at={at} offers={preview?.drawing.hosts ?? []} placeholder="in turn" />
  );
}

/** The parameters of the flow's congestion control, with their descriptions from the catalogue. */
function Parameters({ entry }: { entry: FlowEntry }) {
  const { names } = useEdit();
  const known = controlOf(names, entry.cc)?.parameters ?? [];
  const written = Object.keys((valueAt(entry.value, ["params"]) ?? {}) as Record<string, Value>);
  if (known.length === 0 && written.length === 0) return null;
  return (
    <details className={styles.more} open={written.length > 0 || undefined}>
      <summary>
        Parameters of {entry.cc || "cubic"}
        {written.length > 0 ? ` (${written.length} set)` : ` (${known.length})`}
      </summary>
      <div className={styles.fields}>
        {known.map((one) => (
          <FieldAt
            key={one.name}
            at={["flows", entry.position, "params", one.name]}
            label={one.name}
            placeholder={one.default}
            help={`${one.about}; ${one.unit === "switch" ? "on or off" : `${one.low} to ${one.high}`}${one.of === "flow" ? ", of this flow" : ", of all flows of the module"}`}
            {...(one.unit === "switch" ? { choices: ["on", "off"] } : {})}
            read={numberOrText}
          />
        ))}
        {written
          .filter((name) => !known.some((one) => one.name === name))
          .map((name) => (
            <FieldAt key={name} at={["flows", entry.position, "params", name]} label={name} read={numberOrText} />
          ))}
      </div>
    </details>
  );
}
