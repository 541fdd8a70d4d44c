/** What to draw of the recording in an experiment. */
import type { Wanted } from "../../../recordings/queries";
import { type Value, valueAt } from "../yamlText";
import { entriesOf, textOf } from "./edit";

/** The models, as the form offers them. */
export const MODELS: Readonly<Record<string, string>> = {
  lte: "Model: cellular link (lte)",
  leo: "Model: satellite link (leo)",
};

/** What to draw of a recording; null for one that is not complete. */
export function wantedOf(value: Value | undefined): Wanted | null {
  const text = (name: string): string => textOf(valueAt(value, [name]));
  const [file, model] = [text("file"), text("model")];
  if (model in MODELS) {
    const parameters = entriesOf(valueAt(value, ["parameters"])).filter(
      (entry): entry is [string, number] => typeof entry[1] === "number",
    );
    const asked = { length: text("length") || "60 s", seed: Number(text("seed") || 1) };
    return { model: model as "lte", asked: { ...asked, parameters: Object.fromEntries(parameters) } };
  }
  if (!/^sha256:[0-9a-f]{64}$/.test(file)) return null;
  const columns = Object.fromEntries(entriesOf(valueAt(value, ["columns"])).map(([name, one]) => [name, textOf(one)]));
  const [format, step] = [text("format"), text("step")];
  return {
    reference: file,
    reading: { ...columns, ...(format ? { format: format as "table" } : {}), ...(step ? { step } : {}) },
  };
}
