/** Errors with their locations: the service names the field; an error of the whole plan is located by its subject, if possible. */
import { type Location, type Parsed, type Value, valueAt } from "./yamlText";

export interface Mistake {
  /** Empty for the whole experiment. */
  location: Location;
  /** The same as people write it: flows.app.cc. */
  field: string;
  message: string;
  /** The value that was probably meant; of a misnamed field, its name. */
  nearest: string | null;
  misnamed: boolean;
}

export function mistakesOf(body: unknown, data: Parsed["data"]): Mistake[] {
  const fault = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  const fields = Array.isArray(fault.fields) ? fault.fields.flatMap(mistakeOf) : [];
  if (fields.length > 0) return fields;
  const lines = Array.isArray(fault.problems) && fault.problems.length > 0 ? fault.problems.map(String) : null;
  const what = [fault.what, fault.hint].filter((one) => typeof one === "string" && one !== "").join("; ");
  const location = locationOf(String(fault.subject ?? ""), data);
  return (lines ?? [what || String(fault.detail ?? fault.title ?? "The service refused the experiment.")]).map(
    (message) => ({ location, field: location.join("."), message, nearest: null, misnamed: false }),
  );
}

function mistakeOf(body: unknown): Mistake[] {
  const fault = body as Record<"location" | "field" | "what" | "nearest" | "misnamed", unknown>;
  if (!Array.isArray(fault.location)) return [];
  const location = fault.location.filter((key) => typeof key === "string" || typeof key === "number");
  const nearest = typeof fault.nearest === "string" ? fault.nearest : null;
  const message = spoken(String(fault.what ?? ""), nearest);
  return [{ location, field: String(fault.field ?? ""), message, nearest, misnamed: fault.misnamed === true }];
}

/** With a capital letter unless it begins with a field, and without the suggestion, which has a button. */
function spoken(what: string, nearest: string | null): string {
  const end = `, nearest: ${nearest}`;
  const text = what.endsWith(end) ? what.slice(0, -end.length) : what;
  return /^[a-z]+\.[\w.-]+:/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
}

/** The location of `flows.app.sender`, or of a point of the sweep; otherwise the whole experiment. */
export function locationOf(subject: string, data: Parsed["data"]): Location {
  if (/ at \S+=/.test(subject) && data?.sweep !== undefined) return ["sweep"];
  const location: (string | number)[] = [];
  for (const part of subject.split(".")) {
    const here: Value | undefined = valueAt(data, location);
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

/** The error of a field, or of a field below it. */
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
