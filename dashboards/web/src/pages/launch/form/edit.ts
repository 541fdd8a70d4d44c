/** Shared by all sections of the form: the current experiment, and functions that edit its text. */
import { createContext, useContext } from "react";
import { spellNumber } from "../../../units";
import type { Names } from "../catalogue";
import { change, draft } from "../draft";
import type { Preview } from "../preview";
import type { Mistake } from "../problems";
import { fieldsOf, type Schema, trafficOf } from "../schema";
import { type Location, type Parsed, type Value, valueAt, without, withValue } from "../yamlText";

export interface Edit {
  data: Parsed["data"];
  schema: Schema | null;
  names: Names;
  preview: Preview | null;
  mistakes: readonly Mistake[];
}

export const EditContext = createContext<Edit | null>(null);

export function useEdit(): Edit {
  const edit = useContext(EditContext);
  if (edit === null) throw new Error("a section of the form is used outside the form");
  return edit;
}

/** Writes a value into the text; undefined removes the field. */
export function write(location: Location, value: Value | undefined, schema: Schema | null): void {
  const { text } = draft.get();
  const order = location.length > 0 ? fieldsOf(schema, location.slice(0, -1)) : [];
  change({ text: value === undefined ? without(text, location) : withValue(text, location, value, order) });
}

/** Appends an entry to a list, which may not exist yet. */
export function append(list: string, count: number, value: Value, schema: Schema | null): void {
  write(count === 0 ? [list] : [list, count], count === 0 ? [value] : value, schema);
}

export interface FlowEntry {
  position: number;
  name: string;
  /** The field that determines the traffic, such as udp or web; tcp without one. */
  kind: string;
  cc: string;
  value: Value;
}

/** The valid entries of the list of flows. */
export function flowEntries(data: Parsed["data"], schema: Schema | null): FlowEntry[] {
  const kinds = Object.keys(trafficOf(schema));
  const flows = valueAt(data, ["flows"]);
  if (!Array.isArray(flows)) return [];
  return flows.map((value: Value, position) => {
    const has = (key: string): boolean => valueAt(value, [key]) !== undefined;
    return {
      position,
      name: textOf(valueAt(value, ["name"])) || `flow ${position + 1}`,
      kind: kinds.find(has) ?? "tcp",
      cc: textOf(valueAt(value, ["cc"])),
      value,
    };
  });
}

/** The entries of a mapping, in order; empty if it is not a mapping. */
export function entriesOf(value: Value | undefined): [string, Value][] {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
}

/** The text of a value in the form. */
export function textOf(value: Value | undefined): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "boolean") return value ? "on" : "off";
  if (typeof value === "number") return spellNumber(String(value));
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Names with commas or spaces between them, as a list. */
export function listed(text: string): Value {
  return text.split(/[,\s]+/).filter((one) => one !== "");
}

/** Counts are numbers, quantities are texts. */
export function numberOrText(text: string): Value {
  const trimmed = text.trim();
  return /^\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : trimmed;
}

/** An unused name: one of the wanted names, or the noun with a number. */
export function freeName(noun: string, taken: readonly string[], wanted: readonly string[]): string {
  const found = wanted.find((name) => !taken.includes(name));
  if (found) return found;
  let number = taken.length + 1;
  while (taken.includes(`${noun}-${number}`)) number++;
  return `${noun}-${number}`;
}
