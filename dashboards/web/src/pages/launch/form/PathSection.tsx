/** The path: the common fields are visible, the others behind a click. */
import { fieldsOf, schemaAt } from "../schema";
import { valueAt } from "../yamlText";
import { numberOrText, useEdit } from "./edit";
import { FieldAt } from "./FieldAt";
import styles from "./Form.module.css";
import { LinkFields } from "./LinkFields";
import { RecordingFields } from "./RecordingFields";

const MORE = [
  "jitter",
  "reverse_bandwidth",
  "reverse_queue",
  "reverse_loss",
  "reorder",
  "duplicate",
  "corrupt",
  "mark_at",
  "mtu",
  "offloads",
] as const;
const NESTED = [
  ["one_way", ["forward", "reverse"]],
  ["burst", ["p", "r", "good", "bad"]],
  ["police", ["rate", "burst"]],
  ["shaper", ["burst", "peak"]],
] as const;
const LABELS = { one_way: "One way,", burst: "Burst", police: "Policer,", shaper: "Shaper," } as const;
// Parameters of a queue, and the field that names it.
const QUEUES = [
  ["dualpi2", "queue", "dualpi2"],
  ["cake", "queue", "cake"],
  ["reverse_cake", "reverse_queue", "cake"],
] as const;

export function PathSection() {
  const { data, names, schema } = useEdit();
  const topology = String(valueAt(data, ["topology"]) ?? "dumbbell");
  const row = names.topologies.find((one) => one.topology === topology);
  const path = valueAt(data, ["path"]);
  const asymmetric = valueAt(path, ["one_way"]) !== undefined;
  const recorded = valueAt(path, ["recording"]) !== undefined;
  const used = [...MORE, ...NESTED.map(([name]) => name)].filter((name) => valueAt(path, [name]) !== undefined).length;
  return (
    <section className={styles.section} aria-labelledby="form-path">
      <h2 id="form-path">Path</h2>
      <div className={styles.fields}>
        <FieldAt
          at={["topology"]}
          choices={names.topologies.map((one) => one.topology)}
          {...(row ? { help: row.about } : {})}
        />
        <FieldAt at={["path", "bandwidth"]} placeholder={recorded ? "as recorded" : hint(row, "bw", "100 Mbit/s")} />
        {!asymmetric && <FieldAt at={["path", "rtt"]} placeholder={hint(row, "rtt", "40 ms")} />}
        <FieldAt at={["path", "buffer"]} offers={["1 BDP", "0.5 BDP", "2 BDP", "100 packets"]} />
        <FieldAt at={["path", "queue"]} />
        <FieldAt at={["path", "loss"]} placeholder="none" offers={["1e-5", "0.1 %", "1 %"]} />
        <FieldAt at={["path", "ecn"]} placeholder="off" />
      </div>
      <details className={styles.more} open={used > 0 || undefined}>
        <summary>
          Asymmetric delays, jitter, bursts, policer, shaper, MTU, offloads{used > 0 ? ` (${used} set)` : ""}
        </summary>
        <div className={styles.fields}>
          {NESTED.flatMap(([name, parts]) =>
            parts.map((part) => (
              <FieldAt
                key={`${name} ${part}`}
                at={["path", name, part]}
                label={`${LABELS[name]} ${part}`}
                placeholder=""
              />
            )),
          )}
          {MORE.map((name) => (
            <FieldAt
              key={name}
              at={["path", name]}
              placeholder={textOfDefault(schema && schemaAt(schema, ["path", name])?.default)}
            />
          ))}
        </div>
      </details>
      <RecordingFields link={["path"]} field="recording" />
      <RecordingFields link={["path"]} field="reverse_recording" />
      {QUEUES.filter(
        ([part, queue, kind]) => valueAt(path, [queue]) === kind || valueAt(path, [part]) !== undefined,
      ).map(([part, queue, kind]) => (
        <details key={part} className={styles.more} open={valueAt(path, [part]) !== undefined || undefined}>
          <summary>{`Parameters of ${kind}${queue === "queue" ? "" : " in reverse"}`}</summary>
          <div className={styles.fields}>
            {fieldsOf(schema, ["path", part]).map((name) => (
              <FieldAt key={name} at={["path", part, name]} />
            ))}
          </div>
        </details>
      ))}
      {row && topology !== "dumbbell" && (
        <details className={styles.more} open>
          <summary>Parameters of {topology}</summary>
          <div className={styles.fields}>
            {row.parameters.map((one) => (
              <FieldAt
                key={one.name}
                at={["params", one.name]}
                label={one.name}
                placeholder={one.default}
                help={`${one.about}; ${one.low} to ${one.high}`}
                read={numberOrText}
              />
            ))}
          </div>
        </details>
      )}
      <LinkFields />
    </section>
  );
}

function hint(
  row: { topology: string; parameters: readonly { name: string; default: string }[] } | undefined,
  name: string,
  example: string,
): string {
  if (row === undefined || row.topology === "dumbbell") return `e.g. ${example}`;
  return row.parameters.find((one) => one.name === name)?.default ?? "";
}

function textOfDefault(value: unknown): string {
  return value === undefined || value === null ? "" : String(value);
}
