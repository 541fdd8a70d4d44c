/** Phases: named parts of the run with measures of their own. */
import { Button } from "../../../parts/Button";
import { seconds, written } from "../durations";
import { mistakeAt } from "../problems";
import { type Value, valueAt } from "../yamlText";
import { entriesOf, freeName, useEdit, write } from "./edit";
import { FieldAt, TextInput } from "./FieldAt";
import styles from "./Form.module.css";
import { ListSection } from "./ListSection";
import { Remove } from "./Remove";

type Phases = readonly (readonly [string, Value])[];

export function PhaseSection() {
  const { data, schema } = useEdit();
  const phases = entriesOf(valueAt(data, ["phases"]));
  const add = (): void => {
    const length = seconds(valueAt(data, ["duration"])) ?? 60;
    const name = freeName(
      "phase",
      phases.map(([one]) => one),
      ["early", "late"],
    );
    const half = written(length / 2);
    write(["phases", name], name === "early" ? ["0 s", half] : [half, written(length)], schema);
  };
  const rename = (from: string, to: string): void => {
    const name = to.trim();
    if (name === "" || phases.some(([one]) => one === name)) return;
    write(["phases"], Object.fromEntries(phases.map(([one, span]) => [one === from ? name : one, span])), schema);
  };
  return (
    <ListSection
      field="phases"
      title="Phases"
      adding={
        <Button onClick={add} disabled={data === null}>
          Add phase
        </Button>
      }
    >
      {phases.map(([name], position) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: its name changes while it is typed
        <Phase key={position} name={name} phases={phases} onRename={rename} />
      ))}
    </ListSection>
  );
}

interface PhaseProps {
  name: string;
  phases: Phases;
  onRename: (from: string, to: string) => void;
}

function Phase({ name, phases, onRename }: PhaseProps) {
  const { mistakes } = useEdit();
  const at = ["phases", name];
  const id = `phase-${phases.findIndex(([one]) => one === name)}`;
  const whole = mistakeAt(mistakes, at);
  const wiring = {
    id,
    disabled: false,
    "aria-invalid": whole !== undefined,
    "aria-describedby": `${id}-about`,
    className: styles.control,
  };
  return (
    <fieldset className={styles.flow}>
      <legend className="unseen">Phase {name}</legend>
      <div className={styles.fields}>
        <div className={styles.field}>
          <label htmlFor={id}>Name</label>
          <TextInput value={name} placeholder="" onChange={(to) => onRename(name, to)} wiring={wiring} />
          <div id={`${id}-about`} className={styles.mistake}>
            {whole?.message}
          </div>
        </div>
        <FieldAt at={[...at, 0]} label="From" />
        <FieldAt at={[...at, 1]} label="To" />
      </div>
      <div className={styles.flowHead}>
        <span className={styles.spacer} />
        <Remove at={at} label={`Remove phase ${name}`} />
      </div>
    </fieldset>
  );
}
