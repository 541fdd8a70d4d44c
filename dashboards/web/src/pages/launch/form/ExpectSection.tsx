/** The expectations, one line each. */
import { Button } from "../../../parts/Button";
import { mistakeAt } from "../problems";
import { type Value, valueAt } from "../yamlText";
import { ChoiceField } from "./ChoiceField";
import { append, flowEntries, numberOrText, textOf, useEdit, write } from "./edit";
import { FieldAt } from "./FieldAt";
import styles from "./Form.module.css";
import { ListSection } from "./ListSection";
import { MistakeNote } from "./MistakeText";
import { Remove } from "./Remove";

const BOUNDS = [
  ["at_least", "at least"],
  ["at_most", "at most"],
  ["within", "within"],
] as const;
type Bound = (typeof BOUNDS)[number][0];

export function ExpectSection() {
  const { data, schema, names } = useEdit();
  const found = valueAt(data, ["expect"]);
  const lines = Array.isArray(found) ? found : [];
  const add = (): void => {
    append("expect", lines.length, { measure: "utilisation", at_least: 0.9 }, schema);
  };
  return (
    <ListSection
      field="expect"
      title="Expectations"
      adding={
        <Button onClick={add} disabled={data === null || names.measures.length === 0}>
          Add expectation
        </Button>
      }
    >
      {lines.map((line, position) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an expectation is identified by its position
        <Line key={position} line={line} position={position} />
      ))}
    </ListSection>
  );
}

function Line({ line, position }: { line: Value; position: number }) {
  const { data, schema, names, mistakes } = useEdit();
  const at = ["expect", position];
  const measure = names.measures.find((one) => one.measure === valueAt(line, ["measure"]));
  const [bound]: readonly [Bound, string] = BOUNDS.find(([name]) => valueAt(line, [name]) !== undefined) ?? BOUNDS[0];
  const ofFlow = measure?.of === "flow" || measure?.of === "either" || valueAt(line, ["flow"]) !== undefined;
  const whole = mistakeAt(mistakes, at);
  const rebound = (next: Bound): void => {
    const now = textOf(valueAt(line, [bound === "within" ? "of" : bound]));
    const { at_least: _, at_most: __, within: ___, of: ____, ...kept } = line as Record<string, Value>;
    write(
      at,
      { ...kept, ...(next === "within" ? { within: "5 %", of: numberOrText(now) } : { [next]: numberOrText(now) }) },
      schema,
    );
  };
  return (
    <fieldset className={styles.flow}>
      <legend className="unseen">Expectation {position + 1}</legend>
      <MistakeNote mistake={whole} />
      <div className={styles.row}>
        <FieldAt
          at={[...at, "measure"]}
          choices={names.measures.map((one) => one.measure)}
          help={measure?.formula ?? ""}
        />
        {ofFlow && (
          <FieldAt at={[...at, "flow"]} choices={flowEntries(data, schema).map((flow) => flow.name)} placeholder="" />
        )}
        <ChoiceField label="Is" value={bound} choices={BOUNDS} onChange={rebound} />
        <FieldAt
          at={[...at, bound]}
          label={bound === "within" ? "Within" : "Value"}
          read={numberOrText}
          placeholder=""
        />
        {bound === "within" && <FieldAt at={[...at, "of"]} label="Of" read={numberOrText} placeholder="" />}
        <Remove at={at} label={`Remove expectation ${position + 1}`} />
      </div>
    </fieldset>
  );
}
