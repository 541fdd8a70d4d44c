/** Contrasts of theme.css, both themes: WCAG AA. */
import { expect, test } from "vitest";
import { contrast } from "./colourMath";
import css from "./theme.css?raw";

const TOKENS = Object.fromEntries(
  [...css.matchAll(/--([a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/g)].map((found) => [
    found[1] ?? "",
    { light: found[2] ?? "", dark: found[3] ?? "" },
  ]),
);
const GROUNDS = ["ground", "surface", "raised"];
const PAIRS = [
  ...["text", "text-2", "text-3", "accent", "good", "warn", "bad"].flatMap((text) =>
    GROUNDS.map((ground) => [text, ground, 4.5] as const),
  ),
  ...["good", "warn", "bad", "accent"].map((text) => [text, `${text}-ground`, 4.5] as const),
  ["text-2", "bad-ground", 4.5] as const,
  ["on-accent", "accent", 4.5] as const,
  ...GROUNDS.map((ground) => ["line-strong", ground, 3] as const),
];

test.each(PAIRS)("%s on %s", (front, ground, least) => {
  for (const theme of ["light", "dark"] as const) {
    const [one, other] = [TOKENS[front]?.[theme], TOKENS[ground]?.[theme]];
    expect(contrast(one ?? "", other ?? ""), `${theme} ${one} on ${other}`).toBeGreaterThanOrEqual(least);
  }
});
