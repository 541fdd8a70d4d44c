/** The recipe of an experiment or of one of its runs: the submission that gives the same runs. */
import type { Schemas } from "../api/client";
import type { Value } from "../pages/launch/yamlText";

export type Fields = { readonly [name: string]: Value };

export interface Recipe {
  /** The name of the experiment. */
  name: string;
  /** The name of a shipped experiment, or fields. */
  experiment: string | Fields;
  /** Arguments of longhaul.run, and fields of a submission; those at their defaults are left out. */
  options: Readonly<Record<string, Value>>;
}

type Experiment = Pick<Schemas["Experiment"], "name" | "asked" | "backend" | "progress">;
export type OneRun = Pick<Schemas["Run"], "point" | "seed">;

/** `fields`: those of the experiment, without defaults. With a run, the recipe makes only this one of the experiment's runs. */
export function recipeOf({ name, asked, backend, progress }: Experiment, fields: Fields, run: OneRun | null): Recipe {
  const one = progress.total > 1 ? run : null;
  const point = one && pointOf(fields.sweep, one.point);
  const target = {
    ...(backend !== "" && backend !== "sandbox" && { backend }),
    ...kept(asked, ["where", "clock", "hosts"]),
  };
  if (typeof asked.shipped === "string") {
    const changes = Array.isArray(asked.changes) ? asked.changes.map(String) : [];
    const set = [...changes, ...(point ? [`sweep=${JSON.stringify(point)}`] : [])];
    const times = one ? { seed: one.seed, repeats: 1 } : kept(asked, ["seed", "repeats"]);
    return { name, experiment: asked.shipped, options: { ...(set.length > 0 && { set }), ...times, ...target } };
  }
  if (one === null) return { name, experiment: fields, options: target };
  const { repeats: _, ...others } = fields;
  return { name, experiment: { ...others, seed: one.seed, ...(point && { sweep: point }) }, options: target };
}

/** A sweep of one point, with the values as the experiment writes them; null without a sweep. */
function pointOf(sweep: Value | undefined, point: Readonly<Record<string, string>>): Fields | null {
  const written = Object.entries(point).map(([path, text]): [string, Value] => {
    const values = valuesOf(sweep, path);
    const value = values.find((one) => isText(one, text)) ?? text;
    return [path, [value]];
  });
  return written.length > 0 ? Object.fromEntries(written) : null;
}

/** The values of a field in a sweep: of every combination, or of a list of points. */
function valuesOf(sweep: Value | undefined, path: string): readonly Value[] {
  const points = Array.isArray(sweep) ? sweep : [sweep];
  return points.flatMap((one): readonly Value[] => {
    const found: unknown = typeof one === "object" && one !== null ? (one as Fields)[path] : undefined;
    return Array.isArray(found) ? (found as readonly Value[]) : found === undefined ? [] : [found as Value];
  });
}

function isText(value: Value, text: string): boolean {
  if (typeof value === "number") return value === Number(text);
  if (typeof value === "object") return JSON.stringify(value) === text;
  return String(value) === text;
}

function kept(asked: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, Value> {
  const given = names.map((name): [string, Value] => [name, (asked[name] ?? null) as Value]);
  return Object.fromEntries(
    given.filter(([, value]) => value !== null && !(Array.isArray(value) && value.length === 0)),
  );
}
