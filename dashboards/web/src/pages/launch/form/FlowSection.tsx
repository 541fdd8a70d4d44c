/** The flows: one card each. */
import { Button } from "../../../parts/Button";
import { append, flowEntries, useEdit } from "./edit";
import { FlowCard } from "./FlowCard";
import { nameAfter } from "./flowNames";
import { ListSection } from "./ListSection";

export function FlowSection() {
  const { data, schema } = useEdit();
  const entries = flowEntries(data, schema);
  const taken = entries.map((entry) => entry.name);
  const add = (): void => {
    const used = new Set(entries.map((entry) => entry.cc));
    const cc = ["cubic", "bbr", "reno", "htcp"].find((name) => !used.has(name)) ?? "cubic";
    append("flows", entries.length, { name: nameAfter(cc, taken), cc }, schema);
  };
  return (
    <ListSection
      field="flows"
      title="Flows"
      adding={
        <Button onClick={add} disabled={data === null}>
          Add flow
        </Button>
      }
    >
      {entries.map((entry) => (
        <FlowCard key={entry.position} entry={entry} taken={taken} />
      ))}
    </ListSection>
  );
}
