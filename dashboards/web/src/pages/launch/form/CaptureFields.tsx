/** Where the packets of a run are captured. */
import { Button } from "../../../parts/Button";
import { mistakeAt } from "../problems";
import { valueAt } from "../yamlText";
import { flowEntries, listed, useEdit, write } from "./edit";
import { FieldAt } from "./FieldAt";
import styles from "./Form.module.css";
import { MistakeNote } from "./MistakeText";
import { Remove } from "./Remove";

export function CaptureFields() {
  const { data, schema, preview, mistakes } = useEdit();
  const at = ["capture"];
  const isSet = valueAt(data, at) !== undefined;
  return (
    <details className={styles.more} open={isSet || undefined}>
      <summary>Packets{isSet ? " (captured)" : ""}</summary>
      <MistakeNote mistake={mistakeAt(mistakes, at)} />
      {isSet ? (
        <fieldset className={styles.flow}>
          <legend className="unseen">Packets to capture</legend>
          <div className={styles.row}>
            <FieldAt
              at={[...at, "at"]}
              label="Captured at"
              read={listed}
              empty={[]}
              offers={["bottleneck", "all", ...(preview?.drawing.hosts ?? [])]}
            />
            <FieldAt at={[...at, "snap"]} label="Bytes of each packet" placeholder="its headers" />
            <FieldAt
              at={[...at, "flows"]}
              label="Only of flows"
              read={listed}
              placeholder="all"
              offers={flowEntries(data, schema).map((flow) => flow.name)}
            />
            <Remove at={at} label="Capture no packets" />
          </div>
        </fieldset>
      ) : (
        <Button onClick={() => write(at, { at: ["bottleneck"] }, schema)} disabled={data === null}>
          Capture packets
        </Button>
      )}
    </details>
  );
}
