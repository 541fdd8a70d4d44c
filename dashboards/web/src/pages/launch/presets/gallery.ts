/** The shipped experiments in groups by question; a search finds them by their names, descriptions and groups. */
import type { Gallery, Preset } from "../../../data/gallery";

/** Presets under a title; a search has one shelf without a title. */
export interface Shelf {
  title: string;
  about: string;
  presets: readonly Preset[];
}

/** The groups; of a search every preset with all of its words once, those whose names begin with it first. */
export function shelvesOf({ groups, experiments }: Gallery, sought: string): Shelf[] {
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) {
    const named = new Map(experiments.map((one) => [one.experiment, one]));
    return groups.map(({ title, about, experiments: names }) => ({
      title,
      about,
      presets: names.flatMap((name) => named.get(name) ?? []),
    }));
  }
  const whole = words.join(" ");
  const titles = (name: string): string =>
    groups.flatMap((group) => (group.experiments.includes(name) ? [group.title] : [])).join(" ");
  const presets = experiments
    .filter(({ experiment, about }) => {
      const text = `${experiment} ${about} ${titles(experiment)}`.toLowerCase();
      return words.every((word) => text.includes(word));
    })
    .toSorted((a, b) => Number(b.experiment.startsWith(whole)) - Number(a.experiment.startsWith(whole)));
  return presets.length > 0 ? [{ title: "", about: "", presets }] : [];
}
