/** A suggested correction as a change of the text: another name for the field, or another value. */
import type { Mark } from "./editor/marks";
import type { Mistake } from "./problems";
import { isInFlow, type Parsed, rangeOf, scalarText, type TextRange } from "./yamlText";

export interface Mend extends TextRange {
  insert: string;
}

/** The place of a mistake in the text. */
export function placeOf(doc: Parsed["doc"], mistake: Mistake): TextRange {
  return rangeOf(doc, mistake.location, mistake.misnamed ? "key" : "value");
}

/** Null without a suggestion, or without the field in the text. */
export function mendOf(doc: Parsed["doc"], mistake: Mistake): Mend | null {
  const { location, nearest, misnamed } = mistake;
  if (nearest === null || !doc.hasIn(location)) return null;
  const range = placeOf(doc, mistake);
  return { ...range, insert: misnamed ? nearest : scalarText(nearest, isInFlow(doc, location)) };
}

export function markOf(doc: Parsed["doc"], mistake: Mistake): Mark {
  const mend = mendOf(doc, mistake);
  const { message, nearest } = mistake;
  return { ...placeOf(doc, mistake), message, nearest: mend && nearest, insert: mend?.insert ?? "" };
}

export function mended(text: string, { from, to, insert }: Mend): string {
  return text.slice(0, from) + insert + text.slice(to);
}
