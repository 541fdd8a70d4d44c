/** Colours of an order, from low to high, after cividis: they suit every kind of colour vision, and greyscale. */
import { contrast } from "./colourMath";

type Colour = readonly [red: number, green: number, blue: number];

// Grounds of cells, with a text on them.
const CELLS: readonly Colour[] = [
  [0, 32, 77],
  [49, 68, 107],
  [102, 105, 112],
  [149, 144, 119],
  [203, 186, 105],
  [255, 234, 70],
];
// Lines and points on the ground of a theme; each end has a contrast of at least 3:1 to it.
const STROKES = {
  light: [
    [0, 32, 77],
    [70, 82, 112],
    [118, 116, 110],
    [158, 126, 0],
  ],
  dark: [
    [92, 124, 200],
    [140, 148, 160],
    [196, 184, 120],
    [255, 234, 70],
  ],
} as const satisfies Record<string, readonly Colour[]>;

export function cellColour(share: number): { ground: string; text: string } {
  const mixed = mix(CELLS, share);
  return { ground: rgb(mixed), text: legible(mixed) };
}

export function strokeColour(share: number, theme: keyof typeof STROKES): string {
  return rgb(mix(STROKES[theme], share));
}

function mix(stops: readonly Colour[], share: number): Colour {
  const at = Math.max(0, Math.min(1, share)) * (stops.length - 1);
  const low = Math.min(stops.length - 2, Math.floor(at));
  const [from, to] = [stops[low] ?? [0, 0, 0], stops[low + 1] ?? [0, 0, 0]];
  const part = (place: 0 | 1 | 2): number => Math.round(from[place] + (to[place] - from[place]) * (at - low));
  return [part(0), part(1), part(2)];
}

const rgb = (colour: Colour): string => `rgb(${colour.join(" ")})`;

/** White or black, whichever has more contrast with the colour. */
function legible(colour: Colour): string {
  const ground = `#${colour.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
  return contrast(ground, "#ffffff") >= contrast(ground, "#000000") ? "#ffffff" : "#000000";
}
