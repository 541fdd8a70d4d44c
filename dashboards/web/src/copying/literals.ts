/** Values as Python and shells write them. */
import type { Value } from "../pages/launch/yamlText";

const WIDTH = 100;

/** A value as Python writes it, on one line if it fits. `indent`: of the line that it is on. */
export function pythonOf(value: Value, indent = ""): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}    `;
  const list = Array.isArray(value);
  const [open, close] = list ? ["[", "]"] : ["{", "}"];
  const of = (within: string): string[] =>
    list
      ? (value as readonly Value[]).map((one) => pythonOf(one, within))
      : Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${pythonOf(one, within)}`);
  const line = open + of(indent).join(", ") + close;
  if (!line.includes("\n") && indent.length + line.length <= WIDTH) return line;
  return `${open}\n${of(inner)
    .map((one) => `${inner}${one},\n`)
    .join("")}${indent}${close}`;
}

/** A text as one word of a shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A text as the input of a command, after `<<`: the shell changes nothing in it. */
export function hereDocument(text: string): string {
  const lines = text.replace(/\n$/, "").split("\n");
  let end = "END";
  while (lines.includes(end)) end += "_";
  return `'${end}'\n${lines.join("\n")}\n${end}`;
}
