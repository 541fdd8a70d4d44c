/** The title, tags and comment that people give a run or an experiment, as fields hold them. */

export interface Words {
  title: string;
  /** Tags with commas between them, as they are typed. */
  tags: string;
  comment: string;
}

export const NO_WORDS: Words = { title: "", tags: "", comment: "" };

/** The limits of the service. */
export const LONGEST = { title: 200, comment: 10_000 } as const;

/** The tags of a text, each once. */
export function tagsIn(text: string): string[] {
  const found = new Map<string, string>();
  for (const tag of text.split(/[,;\n]/)) {
    const spaced = tag.trim().replace(/\s+/g, " ");
    if (spaced !== "" && !found.has(spaced.toLowerCase())) found.set(spaced.toLowerCase(), spaced);
  }
  return [...found.values()];
}

/** The search that finds a tag, a word of its own. */
export function searchOf(tag: string): string {
  return `tag=${tag.replace(/\s+/g, "-")}`;
}

export function asAsked({ title, tags, comment }: Words): { title: string; tags: string[]; comment: string } {
  return { title: title.trim(), tags: tagsIn(tags), comment: comment.trim() };
}
