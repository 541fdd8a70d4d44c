/** A drawing of the page as a self-contained file: SVG or PNG in the colours of the light theme on white, or its rows as CSV. */
import { type Form, quoted, saveAs } from "../charts/exporting";
import { escaped } from "../charts/figure";
import { colourOf, PALETTE } from "../theme/palette";

export type Rows = readonly (readonly (string | number | null)[])[];

const HEAD_PX = 36;
const KEY_PX = 18;

export function saveDrawing(
  form: Form,
  file: string,
  { svg, title, keys, rows }: { svg: SVGSVGElement; title: string; keys: readonly string[]; rows: () => Rows },
): Promise<void> {
  return saveAs(form, file, { svg: () => svgOf(svg, title, keys), csv: () => csvOf(rows()) });
}

export function csvOf(rows: Rows): string {
  return `${rows.map((row) => row.map((cell) => quoted(cell === null ? "" : String(cell))).join(",")).join("\n")}\n`;
}

/** The drawing with its title above and its key below. */
function svgOf(svg: SVGSVGElement, title: string, keys: readonly string[]): string {
  const { width, height } = svg.viewBox.baseVal;
  const copy = svg.cloneNode(true) as SVGSVGElement;
  for (const part of copy.querySelectorAll("[data-pointer]")) part.remove();
  copy.setAttribute("y", String(HEAD_PX));
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  for (const name of ["class", "style", "role", "tabindex", "aria-label"]) copy.removeAttribute(name);
  const whole = HEAD_PX + height + keys.length * KEY_PX + 8;
  const lines = keys.map(
    (text, at) =>
      `<text x="16" y="${HEAD_PX + height + (at + 1) * KEY_PX - 4}" fill="#4a5158" font-size="12">${escaped(text)}</text>`,
  );
  return inLight(
    [
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${whole}" width="${width}" height="${whole}" font-family="Helvetica, Arial, DejaVu Sans, sans-serif">`,
      `<rect width="${width}" height="${whole}" fill="#fff"/>`,
      `<text x="16" y="24" font-size="15" font-weight="600" fill="#16191c">${escaped(title)}</text>`,
      new XMLSerializer().serializeToString(copy),
      ...lines,
      "</svg>",
    ].join("\n"),
  );
}

/** Colours of the theme as those of the light one. */
function inLight(text: string): string {
  const known = new Map<string, string>();
  PALETTE.light.forEach((colour, place) => {
    known.set(`--flow-${place}`, colour);
  });
  return text.replace(/var\((--[a-z0-9-]+)\)/g, (_, token: string) => {
    const colour = known.get(token) ?? colourOf(token as `--${string}`, "light");
    known.set(token, colour);
    return colour;
  });
}
