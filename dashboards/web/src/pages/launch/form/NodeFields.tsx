/** Hosts with a kernel of their own. */
import { isThere, useKernels } from "../../../api/queries";
import { valueAt } from "../yamlText";
import { useEdit } from "./edit";
import { FieldAt } from "./FieldAt";
import styles from "./Form.module.css";
import { NamedSettings } from "./NamedSettings";
import { Remove } from "./Remove";

export function NodeFields() {
  const { data, preview } = useEdit();
  const versions = (useKernels().data ?? []).filter(isThere).map((kernel) => kernel.version);
  const kernel = valueAt(data, ["kernel"]) ?? versions[0] ?? "";
  return (
    <NamedSettings
      field="nodes"
      title="Kernels of single hosts"
      adding="Set a host's kernel"
      known={preview?.drawing.hosts ?? []}
      first={{ kernel }}
      each={(name) => <OneHost key={name} name={name} versions={versions} />}
    />
  );
}

function OneHost({ name, versions }: { name: string; versions: string[] }) {
  return (
    <fieldset className={styles.flow}>
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
  );
}
