/** Colours of flows, after Okabe and Ito: eight that every kind of colour vision distinguishes, each with a contrast of at least
 * 3:1 to the background of its theme (palette.test.ts measures both); then the same eight with dashes.
 */
export type Dash = readonly number[];

export interface FlowStyle {
  /** For a canvas. */
  colour: string;
  /** For CSS and SVG: follows the theme. */
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

/** The style of a flow by its position among the flows of its run. `patterned`: dashes from the first flow on, for users who do
 * not rely on colour.
 */
export function flowStyle(place: number, theme: keyof typeof PALETTE, patterned = false): FlowStyle {
  const colour = place % COLOURS;
  const round = Math.floor(place / COLOURS);
  const dash = DASHES[(patterned ? place + round : round) % DASHES.length] ?? [];
  return { colour: PALETTE[theme][colour] ?? PALETTE[theme][0], variable: `var(--flow-${colour})`, dash };
}

/** Sets the colours as CSS variables. */
export function applyPalette(theme: keyof typeof PALETTE): void {
  PALETTE[theme].forEach((colour, place) => {
    document.documentElement.style.setProperty(`--flow-${place}`, colour);
  });
}

/** The colour of a token of theme.css, for canvases and files: `colourOf("--line")`. Without a theme, the current one. */
export function colourOf(token: `--${string}`, scheme: keyof typeof PALETTE | "" = ""): string {
  const probe = document.createElement("i");
  probe.style.colorScheme = scheme;
  probe.style.color = `var(${token})`;
  document.body.append(probe);
  const colour = window.getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
