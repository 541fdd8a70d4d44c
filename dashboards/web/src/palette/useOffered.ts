/** Everything that the palette offers: what the page knows, and what the service finds. */
import { useMemo } from "react";
import type { Schemas } from "../api/client";
import { useCatalogue } from "../api/queries";
import { levelOf, useLevel } from "../api/session";
import { type Preset, useGallery } from "../data/gallery";
import { usePapers } from "../data/reproductions";
import { linkTo } from "../navigation/hash";
import { type Shortcut, useShortcuts } from "../navigation/shortcuts";
import type { Names } from "../pages/launch/catalogue";
import type { Choice, Offered } from "./choices";
import { OWN_KEYS } from "./keys";
import { placesFor } from "./places";
import { recentChoices } from "./recent";

/** All but the runs and experiments. */
export function useOffered(): Omit<Offered, "runs" | "experiments"> {
  const level = useLevel();
  const shortcuts = useShortcuts();
  const names = useCatalogue().data as Partial<Names> | undefined;
  const gallery = useGallery().data;
  const papers = usePapers().data;
  const actions = useMemo(() => actionsOf(shortcuts), [shortcuts]);
  const places = useMemo(() => placesFor((part) => level >= levelOf(part.scope)), [level]);
  const known = useMemo(
    () => ({
      shipped: (gallery?.experiments ?? []).map(shippedChoice),
      controls: (names?.modules ?? []).map(controlChoice),
      figures: (papers ?? []).flatMap(figureChoices),
    }),
    [names, gallery, papers],
  );
  const recent = useMemo(() => recentChoices(actions), [actions]);
  return { ...known, actions, places, recent };
}

/** The registered shortcuts, without those that open pages. Of two with the same keys the later one works. */
function actionsOf(shortcuts: readonly Shortcut[]): Choice[] {
  const latest = new Map(shortcuts.map((one) => [one.keys, one]));
  return [...latest.values()]
    .filter(({ keys }) => !keys.startsWith("g ") && keys !== OWN_KEYS)
    .map(({ keys, about, act }) => ({ key: `action ${about}`, name: about, note: "", keys, act }));
}

function shippedChoice({ experiment, about }: Preset): Choice {
  const link = linkTo(["launch"], `from=${encodeURIComponent(experiment)}`);
  return { key: `shipped ${experiment}`, name: experiment, note: about, words: "preset launch", link };
}

function controlChoice({ cc, also, about }: Names["modules"][number]): Choice {
  const link = linkTo(["lab", "modules"], `cc=${encodeURIComponent(cc)}`);
  return { key: `control ${cc}`, name: cc, note: about, words: `${also} module`, link };
}

function figureChoices({ paper, citation, figures }: Schemas["PaperRow"]): Choice[] {
  return figures.map(({ figure, about }) => ({
    key: `figure ${paper}/${figure}`,
    name: `${paper} ${figure}`,
    note: about,
    words: citation,
    link: linkTo(["papers", paper, figure]),
  }));
}
