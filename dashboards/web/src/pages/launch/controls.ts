import type { Names } from "./catalogue";
import { type Value, valueAt } from "./yamlText";

/** The congestion controls of an experiment: the catalogue's, and those of its modules by the names that they have there. */
export function controlNames(names: Names, data: Value | null): string[] {
  const modules = valueAt(data, ["modules"]);
  const own = (Array.isArray(modules) ? modules : []).flatMap((one) => [...namesIn(names, one)]);
  return [...new Set([...names.modules.map((one) => one.cc), ...own])];
}

function* namesIn(names: Names, entry: Value): Generator<string> {
  const given = valueAt(entry, ["as"]);
  if (typeof given === "string") yield given;
  const renamed = given !== null && typeof given === "object" ? Object.entries(given) : [];
  for (const [, name] of renamed) if (typeof name === "string") yield name;
  const reference = typeof entry === "string" ? entry : valueAt(entry, ["from"]);
  const registered = names.sources.find((one) => one.reference === reference)?.controls ?? [];
  if (typeof given !== "string") yield* registered.filter((name) => renamed.every(([written]) => written !== name));
}
