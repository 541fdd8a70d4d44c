import { describe, expect, it } from "vitest";
import { contrast } from "./colourMath";
import { cellColour, strokeColour } from "./ramp";

const hex = (colour: string): string =>
  `#${(colour.match(/\d+/g) ?? []).map((part) => Number(part).toString(16).padStart(2, "0")).join("")}`;

describe("colours of an order", () => {
  it("are legible as lines on their ground, from end to end", () => {
    for (let at = 0; at <= 10; at++) {
      expect(contrast(hex(strokeColour(at / 10, "light")), "#ffffff")).toBeGreaterThan(3);
      expect(contrast(hex(strokeColour(at / 10, "dark")), "#16191c")).toBeGreaterThan(3);
    }
  });

  it("have a legible text on them as cells, and stay within their ends", () => {
    for (let at = 0; at <= 10; at++) {
      const { ground, text } = cellColour(at / 10);
      expect(contrast(hex(ground), text)).toBeGreaterThan(4.4);
    }
    expect(cellColour(-1)).toEqual(cellColour(0));
  });
});
