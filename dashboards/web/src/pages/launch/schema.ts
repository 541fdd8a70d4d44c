/** The JSON Schema of an experiment, followed along a path: fields and their allowed values. */
import type { Location, Value } from "./yamlText";

/** A kind of traffic: its field, its name, and an initial value. */
export interface Traffic {
  kind: string;
  name: string;
  start: Value;
}

export interface Schema {
  type?: string | readonly string[];
  description?: string;
  default?: unknown;
  examples?: readonly string[];
  enum?: readonly (string | number)[];
  pattern?: string;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: Schema | boolean;
  items?: Schema;
  anyOf?: readonly Schema[];
  minimum?: number;
  maximum?: number;
  $ref?: string;
  $defs?: Readonly<Record<string, Schema>>;
  /** The quantity of a text: rate, duration, size, share, buffer, ... */
  "x-quantity"?: string;
  /** The part of the catalogue that lists the allowed names. */
  "x-catalogue"?: string;
  /** For a flow: the fields that make it other traffic than bulk TCP. */
  "x-traffic"?: Readonly<Record<string, Traffic>>;
}

/** A schema with references resolved and "or null" removed; other keywords are kept. */
export function plain(root: Schema, schema: Schema): Schema {
  const { $ref, anyOf, ...keywords } = schema;
  if ($ref !== undefined) {
    const found = root.$defs?.[$ref.replace("#/$defs/", "")];
    return found ? { ...plain(root, found), ...keywords } : keywords;
  }
  if (anyOf === undefined) return schema;
  const real = anyOf.find((one) => one.type !== "null");
  return real ? { ...plain(root, real), ...keywords } : keywords;
}

/** The schema at a location; null if the format has no such field. */
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

/** The fields that make a flow other traffic than bulk TCP. */
export function trafficOf(root: Schema | null): Readonly<Record<string, Traffic>> {
  return (root && schemaAt(root, ["flows", 0])?.["x-traffic"]) ?? {};
}

/** The fields of an object, in the order of the format. */
export function fieldsOf(root: Schema | null, location: Location): readonly string[] {
  const found = root && schemaAt(root, location);
  return Object.keys(found?.properties ?? {});
}

/** The fields with a single value (a burst has fields), which a list of fields can offer. */
export function singleFieldsOf(root: Schema | null, location: Location): readonly string[] {
  return fieldsOf(root, location).filter((name) => fieldsOf(root, [...location, name]).length === 0);
}

/** Every field that a sweep can vary, by its path: path.rtt, flows.app.cc. */
export function sweepable(root: Schema | null, flows: readonly string[], links: readonly string[] = []): string[] {
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
    ...links.flatMap((link) => under(["links", link], `links.${link}`)),
    "duration",
    "flows",
    "kernel",
    "start_jitter",
    "warmup",
  ];
}

/** The requested kernel, if an experiment may have it. */
export function kernelOf(schema: Schema | null, asked: string): string | null {
  const pattern = schema && schemaAt(schema, ["kernel"])?.pattern;
  return pattern && new RegExp(pattern, "u").test(asked) ? asked : null;
}

/** The fields that are neither empty nor equal to their default. */
export function spare(value: Value, root: Schema, at: Location = []): Value {
  if (Array.isArray(value)) return value.map((one: Value, place) => spare(one, root, [...at, place]));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, inner]) => !isEmpty(inner) && !isSame(inner, schemaAt(root, [...at, key])?.default))
      .map(([key, inner]) => [key, spare(inner, root, [...at, key])]),
  );
}

function isEmpty(value: Value): boolean {
  return value === null || value === "" || (typeof value === "object" && Object.keys(value).length === 0);
}

function isSame(value: Value, initial: unknown): boolean {
  return JSON.stringify(value) === JSON.stringify(initial);
}
