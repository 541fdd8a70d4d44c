/** The authoritative text of an experiment, read and edited field by field. An edit keeps everything else, including comments and
 * order: a value is replaced in place; only adding or removing a field formats the text again.
 */
import {
  type Document,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  type Node,
  Pair,
  type ParsedNode,
  parseDocument,
  Scalar,
  type ScalarTag,
  stringify,
  type Tags,
  visit,
  type YAMLMap,
} from "yaml";
import { spellNumber } from "../../units";
import { faultsOf } from "./yamlFaults";

/** Keys and positions, as the service reports them: ["flows", 0, "cc"]. */
export type Location = readonly (string | number)[];
export type Value = string | number | boolean | null | readonly Value[] | { readonly [key: string]: Value };

/** An error in the text, with its range as offsets. */
export interface TextFault {
  from: number;
  to: number;
  message: string;
}

export interface Parsed {
  doc: Document.Parsed<ParsedNode>;
  /** Null if the text is not a mapping of fields. */
  data: { readonly [key: string]: Value } | null;
  faults: readonly TextFault[];
}

/** A number with an exponent needs a point, as the service reads YAML: `1e-5` is a text, and stays as it is written. */
const customTags = (tags: Tags): Tags =>
  tags.map((tag) => (isExponential(tag) ? { ...tag, test: /^[-+]?[0-9]+\.[0-9]*[eE][-+]?[0-9]+$/ } : tag));

function isExponential(tag: Tags[number]): tag is ScalarTag {
  return typeof tag === "object" && "format" in tag && tag.format === "EXP";
}

const OPTIONS = { prettyErrors: false, keepSourceTokens: false, uniqueKeys: true, strict: true, customTags } as const;

export function parseText(text: string): Parsed {
  const doc = parseDocument(text, OPTIONS);
  const faults = faultsOf(text, doc.errors);
  if (faults.length > 0) return { doc, data: null, faults };
  const data = plain(doc);
  if (data === null) {
    const message =
      "An experiment is a mapping of fields, such as `experiment: my-first`, without anchors and aliases.";
    return { doc, data, faults: [{ from: 0, to: text.length, message }] };
  }
  return { doc, data, faults };
}

function plain(doc: Document.Parsed): Parsed["data"] {
  try {
    // The service refuses anchors; without aliases a short text cannot expand.
    const data: unknown = doc.toJS({ maxAliasCount: 0 });
    return typeof data === "object" && data !== null && !Array.isArray(data) ? (data as Parsed["data"]) : null;
  } catch {
    return null;
  }
}

/** The value at a location; undefined without one. */
export function valueAt(data: Value | undefined, location: Location): Value | undefined {
  let here: Value | undefined = data;
  for (const key of location) {
    if (typeof here !== "object" || here === null) return undefined;
    here = (here as { readonly [key: string | number]: Value })[key];
  }
  return here;
}

/** The text with a value at a location. `order`: the order of keys, for the position of a new one. */
export function withValue(text: string, location: Location, value: Value, order: readonly string[] = []): string {
  const { doc, faults } = parseText(text);
  if (faults.length > 0 && text.trim() !== "") return text;
  const node = doc.getIn(location, true);
  if (isScalar(node) && !isObject(value)) return exchanged(text, doc, location, node as Scalar.Parsed, value);
  put(doc, location, value, order);
  return written(doc, text);
}

/** The text without the value at a location, and without mappings that become empty. */
export function without(text: string, location: Location): string {
  const { doc, faults } = parseText(text);
  if (faults.length > 0 || !doc.hasIn(location)) return text;
  doc.deleteIn(location);
  for (let length = location.length - 1; length > 0; length--) {
    const parent = doc.getIn(location.slice(0, length));
    if (!isCollection(parent) || parent.items.length > 0) break;
    doc.deleteIn(location.slice(0, length));
  }
  return written(doc, text);
}

function exchanged(text: string, doc: Document, location: Location, node: Scalar.Parsed, value: Value): string {
  const [from, to] = node.range;
  const fresh = new Scalar(value);
  if (from === to || node.type === Scalar.BLOCK_FOLDED || node.type === Scalar.BLOCK_LITERAL) {
    doc.setIn(location, fresh);
    return written(doc, text);
  }
  return text.slice(0, from) + scalarText(value, isInFlow(doc, location)) + text.slice(to);
}

/** A value as YAML: in braces and brackets a comma needs quotes. */
export function scalarText(value: Value, inFlow: boolean): string {
  const options = { lineWidth: 0, customTags } as const;
  if (typeof value === "number") return spellNumber(String(value));
  if (!inFlow) return stringify(value, options).trimEnd();
  return stringify([value], { ...options, collectionStyle: "flow", flowCollectionPadding: false })
    .trim()
    .slice(1, -1);
}

export function isInFlow(doc: Document, location: Location): boolean {
  return location.some((_, length) => {
    const around = length === 0 ? doc.contents : doc.getIn(location.slice(0, length), true);
    return isCollection(around) && around.flow === true;
  });
}

function put(doc: Document, location: Location, value: Value, order: readonly string[]): void {
  for (let length = 0; length < location.length; length++) {
    const at = location.slice(0, length);
    const around = length === 0 ? doc.contents : doc.getIn(at, true);
    if (isCollection(around)) continue;
    const fresh = doc.createNode(typeof location[length] === "number" ? [] : {});
    if (length === 0) doc.contents = fresh as typeof doc.contents;
    else insert(doc, at, fresh, order);
  }
  insert(doc, location, styled(doc, location, value), order);
}

function insert(doc: Document, location: Location, node: Node, order: readonly string[]): void {
  const key = location[location.length - 1];
  const parent = location.length === 1 ? doc.contents : doc.getIn(location.slice(0, -1), true);
  if (!isMap(parent) || parent.has(key)) {
    doc.setIn(location, node);
    return;
  }
  const rank = order.indexOf(String(key));
  const after = rank < 0 ? -1 : parent.items.findIndex((pair) => order.indexOf(keyText(pair)) > rank);
  const pair = new Pair(doc.createNode(key), node);
  if (after < 0) (parent as YAMLMap).items.push(pair);
  else (parent as YAMLMap).items.splice(after, 0, pair);
}

/** A flow, a change or an expectation is one line, like its neighbours; so is a short list. */
function styled(doc: Document, location: Location, value: Value): Node {
  const node = doc.createNode(value);
  // Small shares of packets are written as 1e-5.
  visit(node, {
    Scalar: (_, scalar) => {
      if (typeof scalar.value === "number" && scalar.value !== 0 && Math.abs(scalar.value) < 1e-3)
        scalar.format = "EXP";
    },
  });
  if (!isCollection(node)) return node;
  const siblings = doc.getIn(location.slice(0, -1), true);
  const first = isSeq(siblings) ? siblings.items[0] : undefined;
  const inList = typeof location[location.length - 1] === "number";
  if (inList && (first === undefined || !isCollection(first) || first.flow === true)) node.flow = true;
  if (isSeq(node) && node.items.every((item) => isScalar(item))) node.flow = true;
  else if (isSeq(node)) for (const item of node.items) if (isCollection(item)) item.flow = true;
  return node;
}

function written(doc: Document, before: string): string {
  const indentSeq = !/^[\w-]+:[^\n]*\n- /m.test(before);
  return doc.toString({ lineWidth: 0, flowCollectionPadding: false, indentSeq });
}

/** The range of a field's value or key in the text; for a missing field, that of the nearest field around it. */
export function rangeOf(doc: Document, location: Location, part: "key" | "value" = "value"): TextRange {
  let here: unknown = doc.contents;
  let range: TextRange = { from: 0, to: 0 };
  for (const key of location) {
    if (isMap(here)) {
      const pair = here.items.find((one) => keyText(one) === String(key));
      if (pair === undefined) return range;
      range = rangeOfNode(pair.key) ?? range;
      here = pair.value;
    } else if (isSeq(here) && typeof key === "number" && key < here.items.length) {
      here = here.items[key];
      range = firstLine(rangeOfNode(here), here) ?? range;
    } else return range;
  }
  return part === "value" && isScalar(here) && here.value !== null ? (rangeOfNode(here) ?? range) : range;
}

export interface TextRange {
  from: number;
  to: number;
}

function rangeOfNode(node: unknown): TextRange | null {
  const range = (node as Node | null)?.range;
  return range ? { from: range[0], to: range[1] } : null;
}

/** For an item of a list, its first field. */
function firstLine(range: TextRange | null, node: unknown): TextRange | null {
  const first = isMap(node) ? node.items[0] : undefined;
  const key = first && rangeOfNode(first.key);
  return key && range ? { from: range.from, to: Math.min(range.to, rangeOfNode(first.value)?.to ?? key.to) } : range;
}

function keyText(pair: { key: unknown }): string {
  return String(isScalar(pair.key) ? pair.key.value : pair.key);
}

function isObject(value: Value): boolean {
  return typeof value === "object" && value !== null;
}
