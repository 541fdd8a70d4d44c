/** Completions at the cursor: missing fields, names of the catalogue, keywords, and units of quantities. */
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { controlOf, type Names, type Parameter } from "../catalogue";
import { controlNames } from "../controls";
import { UNITS } from "../quantities";
import { plain, type Schema, schemaAt, sweepable } from "../schema";
import { type Location, parseText, type Value, valueAt } from "../yamlText";
import { contextAt } from "./context";

export interface Known {
  schema: Schema | null;
  names: Names;
  /** Hosts and links of the current topology. */
  hosts: readonly string[];
  links: readonly string[];
}

export function completions(text: string, at: number, known: Known): { from: number; options: Completion[] } | null {
  const { path, key, word } = contextAt(text, at);
  const data = parseText(text).data ?? parseText(text.slice(0, text.lastIndexOf("\n", at - 1) + 1)).data;
  const options = key === null ? fields(path, data, known) : values(path, key, word, data, known);
  const number = /^\d[\d.]*\s*/.exec(word);
  const skip = key !== null && number ? number[0].length : 0;
  return options.length > 0 ? { from: at - word.length + skip, options } : null;
}

function fields(path: Location, data: Value, known: Known): Completion[] {
  const { schema } = known;
  const there = valueAt(data, path);
  const has = (name: string): boolean => typeof there === "object" && there !== null && name in there;
  if (path.at(-1) === "params")
    return parameters(path, data, known)
      .filter((one) => !has(one.name))
      .map(parameterRow);
  if (path.length === 1 && path[0] === "sweep")
    return sweepable(schema, flowNames(data), known.links)
      .filter((name) => !has(name))
      .map((name) => row(name));
  if (path.at(-1) === "links") return known.links.filter((name) => !has(name)).map((name) => row(name));
  if (path.at(-1) === "flows" && path[0] === "schedule")
    return flowNames(data)
      .filter((name) => !has(name))
      .map((name) => row(name));
  const here = schema && schemaAt(schema, path);
  return Object.entries(here?.properties ?? {})
    .filter(([name]) => !has(name))
    .map(([name, field], place) =>
      row(name, schema ? plain(schema, field) : field, here?.required?.includes(name) ? 90 : 50 - place),
    );
}

function row(name: string, field: Schema = {}, boost = 0): Completion {
  const leads = field.properties !== undefined || field.type === "object";
  return {
    label: name,
    type: "property",
    apply: `${name}:${leads || field.type === "array" ? "" : " "}`,
    detail: field["x-quantity"] ?? field.enum?.slice(0, 3).join(" | ") ?? "",
    info: field.description ?? "",
    boost,
  };
}

function parameterRow(one: Parameter): Completion {
  const info = `${one.about} (${one.low} to ${one.high}, default ${one.default})`;
  return { label: one.name, type: "property", apply: `${one.name}: `, detail: one.unit ?? "", info };
}

function values(path: Location, key: string, word: string, data: Value, known: Known): Completion[] {
  if (path[0] === "sweep" && typeof path[1] === "string") {
    const [first, flow, ...rest] = path[1].split(".");
    const at =
      first === "flows" && rest.length > 0
        ? ["flows", flowNames(data).indexOf(flow ?? ""), ...rest]
        : path[1].split(".");
    return values(at.slice(0, -1), String(at.at(-1)), word, data, known);
  }
  if (path.at(-1) === "params") {
    const one = parameters(path, data, known).find((parameter) => parameter.name === key);
    return one
      ? [...new Set([one.default, one.low, one.high].filter(Boolean))].map((text) => term(text, one.about))
      : [];
  }
  const field = known.schema && schemaAt(known.schema, key === "" ? path : [...path, key]);
  if (!field) return [];
  const quantity = field["x-quantity"] ?? "";
  if (key === "sender" || key === "receiver") return known.hosts.map((name) => term(name));
  if (key === "flow" && path[0] === "expect") return flowNames(data).map((name) => term(name));
  if (field["x-catalogue"]) return named(field["x-catalogue"], known.names, data);
  if (field.enum) return field.enum.map((one) => term(/^\d/.test(String(one)) ? `"${one}"` : String(one)));
  if (/^\d/.test(word))
    return (UNITS[quantity] ?? []).map((unit, place) => ({ label: unit, type: "unit", boost: -place }));
  return (field.examples ?? []).map((text) => term(text, field.description));
}

function term(label: string, info = ""): Completion {
  return { label, type: "enum", info };
}

function named(noun: string, names: Names, data: Value): Completion[] {
  if (noun === "modules")
    return controlNames(names, data).map((label) => {
      const one = names.modules.find((known) => known.cc === label);
      return { label, type: "enum", detail: one?.also ?? "", info: one?.about ?? "of this experiment's modules" };
    });
  if (noun === "topologies")
    return names.topologies.map((one) => ({ label: one.topology, type: "enum", info: one.about }));
  if (noun === "measures")
    return names.measures.map((one) => ({ label: one.measure, type: "enum", detail: one.of, info: one.formula }));
  return [];
}

/** The parameters of the congestion control or topology whose `params` these are. */
function parameters(path: Location, data: Value, known: Known): readonly Parameter[] {
  const owner = valueAt(data, path.slice(0, -1));
  if (path.length === 1) {
    const topology = valueAt(data, ["topology"]) ?? "dumbbell";
    return known.names.topologies.find((one) => one.topology === topology)?.parameters ?? [];
  }
  return controlOf(known.names, valueAt(owner, ["cc"]))?.parameters ?? [];
}

export function flowNames(data: Value): string[] {
  const flows = valueAt(data, ["flows"]);
  return Array.isArray(flows) ? flows.map((flow) => String(valueAt(flow, ["name"]) ?? "")).filter(Boolean) : [];
}

/** The completion source of the editor, while typing and on request. */
export function completionSource(known: () => Known) {
  return (context: CompletionContext): CompletionResult | null => {
    const text = context.state.doc.toString();
    const line = context.state.doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    if (/(^|\s)#/.test(before)) return null;
    if (!context.explicit && !/[\w.%/"]$|: $|[{,] $/.test(before)) return null;
    const found = completions(text, context.pos, known());
    return found && { ...found, validFor: /^[\w./%-]*$/ };
  };
}
