/** The fields that a sweep can vary, in groups that people look in: the path, each flow, each link, the run. */
import { controlOf, type Names } from "../catalogue";
import { type Schema, schemaAt, sweepable } from "../schema";
import { type Location, type Parsed, valueAt } from "../yamlText";
import { flowEntries } from "./edit";
import { labelOf } from "./FieldAt";

export interface SweepField {
  /** Its path, as the text writes it: flows.app.cc. */
  field: string;
  group: string;
  name: string;
  about: string;
}

export function sweepFields(
  schema: Schema | null,
  names: Names,
  data: Parsed["data"],
  links: readonly string[],
): SweepField[] {
  const flows = flowEntries(data, schema);
  const flowNames = flows.map((flow) => flow.name);
  const topology = valueAt(data, ["topology"]) ?? "dumbbell";
  const topologyParameters = names.topologies.find((one) => one.topology === topology)?.parameters ?? [];
  return [
    ...sweepable(schema, flowNames, links).map((field) => described(schema, field, flowNames)),
    ...flows.flatMap((flow) =>
      (controlOf(names, flow.cc)?.parameters ?? []).map((one) => ({
        field: `flows.${flow.name}.params.${one.name}`,
        group: `Flow ${flow.name}`,
        name: `${flow.cc}: ${one.name}`,
        about: one.about,
      })),
    ),
    ...topologyParameters.map((one) => ({
      field: `params.${one.name}`,
      group: `Topology ${String(topology)}`,
      name: one.name,
      about: one.about,
    })),
  ];
}

function described(schema: Schema | null, field: string, flows: readonly string[]): SweepField {
  const [first = "", second = "", ...rest] = field.split(".");
  const named = first === "flows" || first === "links";
  const group = second === "" ? "Run" : first === "path" ? "Path" : `${first === "flows" ? "Flow" : "Link"} ${second}`;
  const own = second === "" ? [first] : named ? rest : [second, ...rest];
  const about = (schema && schemaAt(schema, locationOf(field, flows)))?.description ?? "";
  return { field, group, name: own.map((key) => labelOf([key])).join(", "), about };
}

/** The location of a swept field in the experiment. */
export function locationOf(field: string, flows: readonly string[]): Location {
  const [first = "", second, ...rest] = field.split(".");
  if (first !== "flows" || second === undefined) return field.split(".");
  return ["flows", Math.max(0, flows.indexOf(second)), ...rest];
}

/** The fields with every word in their path, name or description; those whose path or name contain them come first. */
export function matching(fields: readonly SweepField[], sought: string): SweepField[] {
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (text: string): boolean => words.every((word) => text.toLowerCase().includes(word));
  const named = fields.filter((one) => has(`${one.field} ${one.name}`));
  return [...named, ...fields.filter((one) => !named.includes(one) && has(`${one.field} ${one.name} ${one.about}`))];
}
