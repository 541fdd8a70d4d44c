import type { Names } from "./catalogue";
import { type Value, valueAt } from "./yamlText";

/** The congestion controls of an experiment: the catalogue's, and those that its modules name with `as`. */
export function controlNames(names: Names, data: Value | null): string[] {
  const modules = valueAt(data ?? undefined, ["modules"]);
  const own = (Array.isArray(modules) ? modules : []).map((one) => valueAt(one, ["as"]));
  return [...names.modules.map((one) => one.cc), ...own.filter((name) => typeof name === "string")];
}
