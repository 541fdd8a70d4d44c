/**
 * Colours of flows, after Okabe and Ito: eight that people with any kind of colour vision tell apart, each at least 3:1 against
 * the ground of its theme (palette.test.ts measures both); then the same eight with dashes.
 */
export type Dash = readonly number[];

export interface FlowStyle {
  /** For a canvas. */
  colour: string;
  /** For CSS and SVG: follows the theme by itself. */
  variable: string;
  /** Lengths of dashes and gaps in pixels; empty for a solid line. */
  dash: Dash;
}

export const PALETTE = {
  //       blue       orange     green      pink       sky        red        olive      violet
  light: ["#005c91", "#be8c00", "#00876b", "#d85796", "#1f91d0", "#e40e0a", "#587500", "#4d1eb1"],
  dark: ["#5e6fff", "#eaa614", "#36d19e", "#bb77ae", "#9bf4ed", "#df583d", "#ebec39", "#c7aaff"],
} as const;

export const DASHES: readonly Dash[] = [[], [7, 3], [2, 3], [10, 3, 2, 3], [4, 2], [12, 4]];

export const COLOURS = PALETTE.light.length;

/**
 * How the flow at this place among its run's flows is drawn, everywhere. `patterned`: dashes from the first flow on, for those
 * who would rather not go by colour.
 */
export function flowStyle(place: number, theme: keyof typeof PALETTE, patterned = false): FlowStyle {
  const colour = place % COLOURS;
  const round = Math.floor(place / COLOURS);
  const dash = DASHES[(patterned ? place + round : round) % DASHES.length] ?? [];
  return { colour: PALETTE[theme][colour] ?? PALETTE[theme][0], variable: `var(--flow-${colour})`, dash };
}

/** Put the colours where CSS finds them. */
export function applyPalette(theme: keyof typeof PALETTE): void {
  PALETTE[theme].forEach((colour, place) => {
    document.documentElement.style.setProperty(`--flow-${place}`, colour);
  });
}
