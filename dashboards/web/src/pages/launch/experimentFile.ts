/** Reads the file of an experiment, YAML or JSON, as a draft. */
import { textOf } from "./again";
import { FIRST, replaceDraft } from "./draft";
import type { Value } from "./yamlText";

export const ENDINGS = [".yaml", ".yml", ".json"] as const;

/** The largest text that the service takes as an experiment is smaller. */
const MOST_BYTES = 1_000_000;

/** Opens the file as the draft; the draft before can be restored. Returns the reason, in one sentence, if it cannot. */
export async function openFile(file: File): Promise<string | null> {
  const name = file.name.toLowerCase();
  if (!ENDINGS.some((ending) => name.endsWith(ending))) {
    return `${file.name} is not the file of an experiment, which ends in .yaml, .yml or .json.`;
  }
  if (file.size > MOST_BYTES) return `${file.name} is larger than 1 MB, the most that an experiment may have.`;
  try {
    const bytes = await file.arrayBuffer();
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    const found = name.endsWith(".json") ? fromJson(text) : text;
    if (found === null) return `${file.name} has no fields of an experiment.`;
    replaceDraft({ ...FIRST, text: found });
    return null;
  } catch (error) {
    if (error instanceof SyntaxError) return `${file.name} is not valid JSON: ${error.message}.`;
    return `${file.name} could not be read as text.`;
  }
}

/** JSON as the text that the page writes; null if it is not an object. */
function fromJson(text: string): string | null {
  const found = JSON.parse(text) as Value;
  return typeof found === "object" && found !== null && !Array.isArray(found) ? textOf(found) : null;
}
