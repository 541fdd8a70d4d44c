/** Mistakes with their places: the service names each field; what it says of a whole plan is placed by its subject, as far as that is one. */
import { type Location, type Parsed, type Value, valueAt } from "./yamlText";

export interface Mistake {
  /** Empty: of the whole. */
  location: Location;
  message: string;
  nearest: string | null;
}

export function mistakesOf(body: unknown, data: Parsed["data"]): Mistake[] {
  const said = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  const fields = Array.isArray(said.fields) ? said.fields.flatMap(mistakeOf) : [];
  if (fields.length > 0) return fields;
  const lines = Array.isArray(said.problems) && said.problems.length > 0 ? said.problems.map(String) : null;
  const what = [said.what, said.hint].filter((one) => typeof one === "string" && one !== "").join("; ");
  const location = locationOf(String(said.subject ?? ""), data);
  return (lines ?? [what || String(said.detail ?? said.title ?? "The service refuses this.")]).map((message) => ({
    location,
    message,
    nearest: null,
  }));
}

function mistakeOf(field: unknown): Mistake[] {
  const said = field as { location?: unknown; what?: unknown; nearest?: unknown };
  if (!Array.isArray(said.location)) return [];
  const location = said.location.filter((key) => typeof key === "string" || typeof key === "number");
  const nearest = typeof said.nearest === "string" ? said.nearest : null;
  return [{ location, message: spoken(String(said.what ?? "")), nearest }];
}

/** As a sentence begins; what is nearest has a button of its own. */
function spoken(what: string): string {
  const text = what.replace(/, nearest: \S+$/, "");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The place of `flows.app.sender`, or of a point of the sweep; the whole where it is neither. */
export function locationOf(subject: string, data: Parsed["data"]): Location {
  if (/ at \S+=/.test(subject) && data?.sweep !== undefined) return ["sweep"];
  const location: (string | number)[] = [];
  for (const part of subject.split(".")) {
    const here: Value | undefined = valueAt(data ?? undefined, location);
    if (Array.isArray(here)) {
      const found = here.findIndex((item) => valueAt(item, ["name"]) === part);
      if (found < 0) break;
      location.push(found);
    } else if (typeof here === "object" && here !== null && part in here) location.push(part);
    else if (location.length > 0) return [...location, part];
    else break;
  }
  return location;
}

/** What is said of a field, or of something below it. */
export function mistakeAt(
  mistakes: readonly Mistake[],
  location: Location,
  { below = false } = {},
): Mistake | undefined {
  return mistakes.find(
    (one) =>
      (below ? one.location.length >= location.length : one.location.length === location.length) &&
      location.every((key, place) => one.location[place] === key),
  );
}
