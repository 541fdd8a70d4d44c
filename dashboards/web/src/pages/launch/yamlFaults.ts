/** What is wrong with a text that is not YAML: the place, and what to do, in place of the library's words. */
import type { ErrorCode, YAMLParseError } from "yaml";
import type { TextFault } from "./yamlText";

/** Mistakes that say nothing about the text behind them. */
const INDEPENDENT: readonly ErrorCode[] = ["DUPLICATE_KEY"];

const REMEDIES: Partial<Record<ErrorCode, string>> = {
  BAD_ALIAS: "a value begins with * or &. Put it in quotes.",
  BAD_DIRECTIVE: "a line begins with %. Remove it, or begin it with # for a comment.",
  BAD_DQ_ESCAPE: "a backslash in double quotes begins a special character. Use single quotes.",
  BAD_INDENT: "this line is indented otherwise than the fields above. Align them.",
  BAD_SCALAR_START: "a value cannot begin with this character. Put it in quotes.",
  BLOCK_AS_IMPLICIT_KEY:
    "a field begins inside a value. Align this line with the fields above, or put a text with a colon in quotes.",
  BLOCK_IN_FLOW: "a comma is missing between two fields, or a brace is not closed. Add it.",
  DUPLICATE_KEY: "this field is there twice. Remove one of them.",
  MULTILINE_IMPLICIT_KEY: "a field needs a colon, a space and its value, such as `duration: 30 s`. Complete this line.",
  MULTIPLE_DOCS: "a text has one experiment. Remove the line `---` and what follows.",
  TAB_AS_INDENT: "the line is indented with a tab. Indent with spaces.",
  UNEXPECTED_TOKEN: "there is a bracket, a dash or a comma too many. Remove it.",
};
const OTHERWISE = "this is not readable. Compare indentation, colons, commas and quotes with the lines around.";
const MISSING = "a field needs a colon, a space and its value, such as `duration: 30 s`. Complete this line.";

export function faultsOf(text: string, errors: readonly YAMLParseError[]): TextFault[] {
  const first = errors.find((error) => !INDEPENDENT.includes(error.code));
  return errors.filter((error) => error === first || INDEPENDENT.includes(error.code)).map((one) => faultOf(text, one));
}

function faultOf(text: string, error: YAMLParseError): TextFault {
  const open = opening(text, error);
  const from = open ?? Math.min(error.pos[0], text.trimEnd().length);
  const before = text.slice(0, from).split("\n");
  const place = `Line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}: `;
  const to = open === null ? Math.max(error.pos[1], from + 1) : from + 1;
  return { from, to, message: place + remedy(text, error, open) };
}

/** The bracket or quote that is not closed. */
function opening(text: string, { code, message, pos }: YAMLParseError): number | null {
  const flow = /^Flow (map|sequence)/.exec(message);
  const sign = flow ? (flow[1] === "map" ? "{" : "[") : /^Missing closing (["'])/.exec(message)?.[1];
  const found = sign === undefined ? -1 : text.lastIndexOf(sign, pos[0] - 1);
  return found >= 0 && (code === "BAD_INDENT" || code === "MISSING_CHAR") ? found : null;
}

function remedy(text: string, { code, message }: YAMLParseError, open: number | null): string {
  if (open !== null)
    return `${text[open]} is not closed. Add ${{ "{": "}", "[": "]" }[text[open] ?? ""] ?? text[open]} at its end.`;
  if (code === "MISSING_CHAR") return message.includes("map values") ? MISSING : OTHERWISE;
  return REMEDIES[code] ?? OTHERWISE;
}
