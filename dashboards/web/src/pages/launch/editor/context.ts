/** The context of the cursor in an experiment, also while its line is incomplete and does not parse:
 *
 *     flows:
 *       - {name: app, cc: cu|      path: ["flows", 0], key: "cc", word: "cu"
 */
export interface Context {
  /** The path of the mapping or list around the cursor. */
  path: readonly (string | number)[];
  /** The field whose value is being typed; null while a field's name is typed. */
  key: string | null;
  /** The part typed so far. */
  word: string;
}

interface Frame {
  indent: number;
  key: string | number;
}

const KEY = /^(?:"([^"]*)"|'([^']*)'|([^\s:#,{}[\]"'][^:#,{}[\]]*?))\s*:(?=\s|$)/;

export function contextAt(text: string, at: number): Context {
  const lines = text.slice(0, at).split("\n");
  const frames: Frame[] = [];
  let inside: Inside | null = null;
  let found: Context = { path: [], key: null, word: "" };
  lines.forEach((line, number) => {
    const last = number === lines.length - 1;
    if (inside !== null) {
      inside.read(line);
      if (last)
        found = inside.open ? inside.context(frames) : { path: keysOf(frames).slice(0, -1), key: null, word: "" };
      if (!inside.open) inside = null;
      return;
    }
    let indent = line.length - line.trimStart().length;
    let rest = line.slice(indent);
    if (!last && (rest === "" || rest.startsWith("#"))) return;
    const dash = /^-(\s+|$)/;
    leave(frames, indent, dash.test(rest));
    for (let match = dash.exec(rest); match !== null; match = dash.exec(rest)) {
      const top = frames.at(-1);
      if (top !== undefined && top.indent === indent && typeof top.key === "number") top.key += 1;
      else frames.push({ indent, key: 0 });
      indent += match[0].length;
      rest = rest.slice(match[0].length);
    }
    const match = KEY.exec(rest);
    if (match === null) {
      if (last) found = { path: keysOf(frames), key: null, word: rest };
      if (/^[{[]/.test(rest)) inside = begun(rest);
    } else {
      const key = match[1] ?? match[2] ?? match[3] ?? "";
      const value = rest.slice(match[0].length).trimStart();
      if (last) found = { path: keysOf(frames), key, word: value };
      frames.push({ indent, key });
      if (/^[{[]/.test(value)) inside = begun(value);
    }
    if (inside !== null) {
      if (last) found = inside.context(frames);
      if (!inside.open) inside = null;
    }
  });
  return found;
}

/** Closes the mappings and lists that a line with this indent ends. */
function leave(frames: Frame[], indent: number, isItem: boolean): void {
  for (let top = frames.at(-1); top !== undefined; top = frames.at(-1)) {
    const goesOn = isItem && top.indent === indent && (typeof top.key === "number" || isListed(frames));
    if (top.indent < indent || goesOn) return;
    frames.pop();
  }
}

/** A list may have the same indent as the field that it belongs to. */
function isListed(frames: readonly Frame[]): boolean {
  return typeof frames.at(-1)?.key === "string" && typeof frames.at(-2)?.key !== "number";
}

function keysOf(frames: readonly Frame[]): (string | number)[] {
  return frames.map((frame) => frame.key);
}

function begun(text: string): Inside {
  const inside = new Inside();
  inside.read(text);
  return inside;
}

/** Reads braces and brackets, over several lines. */
class Inside {
  readonly #open: { kind: "{" | "["; key: string | number | null }[] = [];
  #word = "";

  get open(): boolean {
    return this.#open.length > 0;
  }

  read(line: string): void {
    let quote = "";
    for (const [place, letter] of [...line].entries()) {
      const top = this.#open.at(-1);
      if (quote !== "") {
        if (letter === quote) quote = "";
        else this.#word += letter;
      } else if ((letter === '"' || letter === "'") && this.#word.trim() === "") quote = letter;
      else if (letter === "#" && /^$|\s/.test(line[place - 1] ?? "")) break;
      else if (letter === "{" || letter === "[") {
        this.#open.push({ kind: letter, key: letter === "[" ? 0 : null });
        this.#word = "";
      } else if (letter === "}" || letter === "]") {
        this.#open.pop();
        this.#word = "";
      } else if (letter === "," && top !== undefined) {
        top.key = typeof top.key === "number" ? top.key + 1 : null;
        this.#word = "";
      } else if (letter === ":" && top?.kind === "{" && top.key === null && /^$|[\s{["']/.test(line[place + 1] ?? "")) {
        top.key = this.#word.trim();
        this.#word = "";
      } else this.#word += letter;
    }
  }

  context(frames: readonly Frame[]): Context {
    const around = this.#open.slice(0, -1).map((one) => one.key ?? "");
    const top = this.#open.at(-1);
    const path = [...keysOf(frames), ...around];
    const word = this.#word.trimStart();
    if (top === undefined) return { path, key: null, word };
    if (typeof top.key === "number") return { path: [...path, top.key], key: "", word };
    return { path, key: top.key, word };
  }
}
