/** The sweep: fields with their values, and the number of points, runs and their cost. */
import { useState } from "react";
import { Button } from "../../../parts/Button";
import { count } from "../../../units";
import { about } from "../Numbers";
import { mistakeAt } from "../problems";
import { type Schema, schemaAt } from "../schema";
import { type Value, valueAt } from "../yamlText";
import { entriesOf, flowEntries, textOf, useEdit, write } from "./edit";
import { TextInput, typed } from "./FieldAt";
import { FieldPicker } from "./FieldPicker";
import styles from "./Form.module.css";
import { Generator } from "./Generator";
import { isWhole, unitsOf } from "./generator";
import { ListSection } from "./ListSection";
import { MistakeText } from "./MistakeText";
import { Remove } from "./Remove";
import { locationOf, sweepFields } from "./sweepFields";

export function SweepSection() {
  const { data, schema, names, preview } = useEdit();
  const sweep = valueAt(data, ["sweep"]);
  const flows = flowEntries(data, schema).map((entry) => entry.name);
  const axes = entriesOf(sweep);
  const links = preview?.drawing.links.map(({ name }) => name) ?? [];
  const free = sweepFields(schema, names, data, links).filter(({ field }) => !axes.some(([name]) => name === field));
  const add = (field: string): void => {
    const now = valueAt(data, locationOf(field, flows));
    const first = now === undefined || typeof now === "object" ? exampleOf(schema, field, flows) : now;
    write(["sweep", field], [first], schema);
  };
  return (
    <ListSection
      field="sweep"
      title="Sweep"
      adding={
        <FieldPicker
          label="Add a field to the sweep"
          prompt="Vary a field …"
          fields={free}
          disabled={data === null || Array.isArray(sweep)}
          onPick={add}
        />
      }
    >
      {Array.isArray(sweep) && (
        <p className={styles.note}>A list of {count(sweep.length)} points. Edit it in the text.</p>
      )}
      {axes.map(([field, values]) => (
        <Axis key={field} field={field} values={Array.isArray(values) ? values : [values]} flows={flows} />
      ))}
      {preview && preview.points > 1 && (
        <p className={styles.total}>
          {axes.length > 1 && `${axes.map(([, values]) => (Array.isArray(values) ? values.length : 1)).join(" × ")} = `}
          {count(preview.points)} points, {count(preview.runs)} runs, about {about(preview.wall_estimate_s)} of
          processor time
        </p>
      )}
    </ListSection>
  );
}

function Axis({ field, values, flows }: { field: string; values: readonly Value[]; flows: readonly string[] }) {
  const { schema, mistakes } = useEdit();
  const mistake = mistakeAt(mistakes, ["sweep", field], { below: true });
  const id = `axis-${field}`;
  const found = schema && schemaAt(schema, locationOf(field, flows));
  const commit = (text: string): void =>
    write(
      ["sweep", field],
      split(text).map((one) => readValue(found, one, field)),
      schema,
    );
  const units = unitsOf(found);
  const [generating, setGenerating] = useState(false);
  const wiring = {
    id,
    disabled: false,
    "aria-invalid": mistake !== undefined,
    "aria-describedby": `${id}-about`,
    className: styles.control,
  };
  return (
    <div className={styles.wide}>
      <label htmlFor={id}>
        {field} <span className={styles.note}>{values.length} values</span>
      </label>
      <div className={styles.axis}>
        <TextInput
          value={values.map(textOf).join(", ")}
          placeholder="values, separated by commas"
          onChange={commit}
          wiring={wiring}
        />
        {units !== null && (
          <Button
            className={styles.small ?? ""}
            aria-expanded={generating}
            aria-label={`Generate values of ${field}`}
            onClick={() => setGenerating(!generating)}
          >
            Generate
          </Button>
        )}
        <Remove at={["sweep", field]} label={`Remove ${field} from the sweep`} />
      </div>
      <div id={`${id}-about`} className={styles.mistake}>
        {mistake && <MistakeText mistake={mistake} />}
      </div>
      {generating && units !== null && (
        <Generator
          field={field}
          values={values.map(textOf)}
          units={units}
          whole={isWhole(found)}
          onFill={(filled) => {
            write(["sweep", field], filled, schema);
            setGenerating(false);
          }}
        />
      )}
    </div>
  );
}

function split(text: string): string[] {
  return text
    .split(",")
    .map((one) => one.trim())
    .filter(Boolean);
}

function readValue(schema: Schema | null, text: string, field: string): Value {
  return field.includes(".params.") && /^\d+$/.test(text) ? Number(text) : typed(schema, text);
}

function exampleOf(schema: Schema | null, field: string, flows: readonly string[]): Value {
  const found = schema && schemaAt(schema, locationOf(field, flows));
  const first = found?.examples?.[0] ?? found?.enum?.[0] ?? found?.default ?? "";
  return typeof first === "object" ? "" : (first as Value);
}
