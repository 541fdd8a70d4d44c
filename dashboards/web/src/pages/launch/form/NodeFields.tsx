/** Hosts with a kernel of their own. */
import { isThere, useKernels } from "../../../api/queries";
import { mistakeAt } from "../problems";
import { valueAt } from "../yamlText";
import { AddField } from "./AddField";
import { entriesOf, useEdit, write } from "./edit";
import { FieldAt } from "./FieldAt";
import styles from "./Form.module.css";
import { Remove } from "./Remove";

export function NodeFields() {
  const { data, schema, preview, mistakes } = useEdit();
  const versions = (useKernels().data ?? []).filter(isThere).map((kernel) => kernel.version);
  const nodes = entriesOf(valueAt(data ?? undefined, ["nodes"]));
  const hosts = preview?.drawing.hosts ?? [];
  const kernel = valueAt(data ?? undefined, ["kernel"]) ?? versions[0] ?? "";
  const whole = mistakeAt(mistakes, ["nodes"]);
  return (
    <details className={styles.more} open={nodes.length > 0 || undefined}>
      <summary>Kernels of single hosts{nodes.length > 0 ? ` (${nodes.length} set)` : ""}</summary>
      {whole && <p className={styles.mistake}>{whole.message}</p>}
      {nodes.map(([name]) => (
        <fieldset key={name} className={styles.flow}>
          <legend className="unseen">Host {name}</legend>
          <div className={styles.flowHead}>
            <strong>{name}</strong>
            <span className={styles.spacer} />
            <Remove at={["nodes", name]} label={`Remove the settings of host ${name}`} />
          </div>
          <div className={styles.fields}>
            <FieldAt at={["nodes", name, "kernel"]} choices={versions} />
          </div>
        </fieldset>
      ))}
      <AddField
        label="Set a host's kernel"
        prompt="Set a host's kernel …"
        free={hosts.filter((name) => !nodes.some(([one]) => one === name))}
        disabled={data === null}
        onAdd={(name) => write(["nodes", name], { kernel }, schema)}
      />
    </details>
  );
}
