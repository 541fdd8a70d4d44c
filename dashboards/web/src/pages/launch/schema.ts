/** The JSON Schema of an experiment, followed along a path: which fields there are, and what each may hold. */
import type { paths } from "../../api/schema.gen";
import type { Location, Value } from "./yamlText";

/** What a field makes of a flow that has it: its kind, its name, and a value to begin with. */
export interface Traffic {
  kind: string;
  name: string;
  start: Value;
}

export interface Schema {
  type?: string | readonly string[];
  title?: string;
  description?: string;
  default?: unknown;
  examples?: readonly string[];
  enum?: readonly (string | number)[];
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: Schema | boolean;
  items?: Schema;
  anyOf?: readonly Schema[];
  minimum?: number;
  maximum?: number;
  $ref?: string;
  $defs?: Readonly<Record<string, Schema>>;
  /** rate, duration, size, share, buffer, ...: what kind of quantity a text holds. */
  "x-quantity"?: string;
  /** Which part of the catalogue lists the names that are allowed. */
  "x-catalogue"?: string;
  /** Of a flow: the fields that make it something else than bulk TCP. */
  "x-traffic"?: Readonly<Record<string, Traffic>>;
}

/** A schema without detours: references followed, "or nothing" left out; what is said beside those is kept. */
export function plain(root: Schema, schema: Schema): Schema {
  const { $ref, anyOf, ...said } = schema;
  if ($ref !== undefined) {
    const found = root.$defs?.[$ref.replace("#/$defs/", "")];
    return found ? { ...plain(root, found), ...said } : said;
  }
  if (anyOf === undefined) return schema;
  const real = anyOf.find((one) => one.type !== "null");
  return real ? { ...plain(root, real), ...said } : said;
}

/** What stands at a place; null where the format has no such field. */
export function schemaAt(root: Schema, location: Location): Schema | null {
  let here: Schema | null = plain(root, root);
  for (const key of location) {
    if (here === null) return null;
    const next: Schema | undefined | boolean =
      typeof key === "number" ? here.items : (here.properties?.[key] ?? here.additionalProperties);
    here = typeof next === "object" ? plain(root, next) : null;
  }
  return here;
}

/** The fields that make a flow something else than bulk TCP. */
export function trafficOf(root: Schema | null): Readonly<Record<string, Traffic>> {
  return (root && schemaAt(root, ["flows", 0])?.["x-traffic"]) ?? {};
}

/** Its fields in the order of the format. */
export function fieldsOf(root: Schema | null, location: Location): readonly string[] {
  const found = root && schemaAt(root, location);
  return Object.keys(found?.properties ?? {});
}

/** Those of them that hold a value of their own, not fields as a burst does: what a list of fields can offer. */
export function singleFieldsOf(root: Schema | null, location: Location): readonly string[] {
  return fieldsOf(root, location).filter((name) => fieldsOf(root, [...location, name]).length === 0);
}

/** Every field that a sweep can vary, as people write its path: path.rtt, flows.app.cc. */
export function sweepable(root: Schema | null, flows: readonly string[]): string[] {
  const under = (at: Location, words: string): string[] =>
    fieldsOf(root, at)
      .filter((name) => name !== "name")
      .flatMap((name) => {
        const within = under([...at, name], `${words}.${name}`);
        return within.length > 0 ? within : [`${words}.${name}`];
      });
  return [
    ...under(["path"], "path"),
    ...flows.flatMap((flow) => under(["flows", 0], `flows.${flow}`)),
    "flows",
    "duration",
    "kernel",
    "start_jitter",
    "warmup",
  ];
}

export type Kernel = NonNullable<
  NonNullable<paths["/api/v1/catalogue/places"]["get"]["parameters"]["query"]>["kernel"]
>;

/** The kernel that is asked for, once it is one of those that an experiment may have. */
export function kernelOf(schema: Schema | null, asked: string): Kernel | null {
  const known = schema && schemaAt(schema, ["kernel"])?.enum;
  return known?.includes(asked) ? (asked as Kernel) : null;
}

/** The fields that say something: neither empty nor what the schema has for them anyway. */
export function spare(value: Value, root: Schema, at: Location = []): Value {
  if (Array.isArray(value)) return value.map((one: Value, place) => spare(one, root, [...at, place]));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, held]) => !isEmpty(held) && !isSame(held, schemaAt(root, [...at, key])?.default))
      .map(([key, held]) => [key, spare(held, root, [...at, key])]),
  );
}

function isEmpty(value: Value): boolean {
  return value === null || value === "" || (typeof value === "object" && Object.keys(value).length === 0);
}

function isSame(value: Value, initial: unknown): boolean {
  return JSON.stringify(value) === JSON.stringify(initial);
}
