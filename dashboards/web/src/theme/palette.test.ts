/** Contrast of flow colours to the background, and to each other for every kind of colour vision. */
import { expect, test } from "vitest";
import { apart, contrast } from "./colourMath";
import { DASHES, flowStyle, PALETTE } from "./palette";

const GROUNDS = { light: "#ffffff", dark: "#16191c" } as const;

test.each(["light", "dark"] as const)("%s: lines contrast with the background", (theme) => {
  for (const colour of PALETTE[theme]) expect(contrast(colour, GROUNDS[theme]), colour).toBeGreaterThanOrEqual(3);
});

test.each(["light", "dark"] as const)("%s: any two colours differ, for every kind of colour vision", (theme) => {
  const near: string[] = [];
  for (const vision of ["normal", "protan", "deutan", "tritan"] as const) {
    PALETTE[theme].forEach((one, place) => {
      for (const other of PALETTE[theme].slice(place + 1)) {
        const distance = apart(one, other, vision);
        // Differences of 0.02 in OKLab are just noticeable side by side.
        if (distance < 0.07) near.push(`${one} ${other} ${vision} ${distance.toFixed(3)}`);
      }
    });
  }
  expect(near).toEqual([]);
});

test("the first 48 flows have different styles", () => {
  const drawn = Array.from({ length: 48 }, (_, place) => {
    const style = flowStyle(place, "dark");
    return `${style.colour} ${style.dash}`;
  });
  expect(new Set(drawn).size).toBe(PALETTE.dark.length * DASHES.length);
});

test.each(["light", "dark"] as const)("%s: ten flows differ in colour or dash without red and green", (theme) => {
  const flows = Array.from({ length: 10 }, (_, place) => flowStyle(place, theme));
  const alike = flows.flatMap((one, place) =>
    flows
      .slice(place + 1)
      .filter((other) => String(one.dash) === String(other.dash) && apart(one.colour, other.colour, "deutan") < 0.07),
  );
  expect(alike).toEqual([]);
});
