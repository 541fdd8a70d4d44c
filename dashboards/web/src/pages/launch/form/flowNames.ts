/** Names of flows: a flow is named after its congestion control, as charts and tables show it, until the user names it. */
import { draft } from "../draft";
import type { Schema } from "../schema";
import { parseText, type Value, valueAt } from "../yamlText";
import { type FlowEntry, write } from "./edit";

/** The name of a new flow: cubic, cubic-2, htcp-be. */
export function nameAfter(control: string, taken: readonly string[]): string {
  const base =
    control
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-|-$/g, "") || "flow";
  if (!taken.includes(base)) return base;
  let number = 2;
  while (taken.includes(`${base}-${number}`)) number++;
  return `${base}-${number}`;
}

/** Whether a name is one of those that a flow of this congestion control is given. */
export function isNamedAfter(name: string, control: string): boolean {
  return name.replace(/-\d+$/, "") === nameAfter(control, []);
}

/** Sets a flow's congestion control, and with it a name that came from the former one, unless the experiment mentions that name. */
export function changeControl(
  entry: FlowEntry,
  control: string,
  taken: readonly string[],
  schema: Schema | null,
): void {
  const at = ["flows", entry.position];
  write([...at, "cc"], control, schema);
  const { data } = parseText(draft.get().text);
  const isMentioned = ["sweep", "expect", "schedule"].some((section) => mentions(valueAt(data, [section]), entry.name));
  if (isMentioned || !isNamedAfter(entry.name, entry.cc)) return;
  const others = taken.filter((_, place) => place !== entry.position);
  write([...at, "name"], nameAfter(control, others), schema);
}

/** Whether a name occurs in a value: as a text, as a key, or in a path such as flows.cubic.cc. */
function mentions(value: Value | undefined, name: string): boolean {
  if (typeof value === "string") return value === name;
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, inner]) => key.split(".").includes(name) || mentions(inner as Value, name));
}
