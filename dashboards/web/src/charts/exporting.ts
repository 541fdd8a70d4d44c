/** A chart as a file: SVG, PNG, or the values that are shown as CSV. */
import { type FigureOptions, figure } from "./figure";
import { within } from "./samples";

export const FORMS = ["svg", "png", "csv"] as const;
export type Form = (typeof FORMS)[number];

/** The resolution of a PNG relative to the page. */
const SCALE = 2;

/** Downloads a drawing, by what makes its forms. */
export async function saveAs(form: Form, name: string, made: { svg: () => string; csv: () => string }): Promise<void> {
  const content =
    form === "csv"
      ? new Blob([made.csv()], { type: "text/csv" })
      : form === "svg"
        ? new Blob([made.svg()], { type: "image/svg+xml" })
        : await pngOf(made.svg());
  keep(content, `${name}.${form}`);
}

export function save(form: Form, name: string, options: FigureOptions): Promise<void> {
  return saveAs(form, name, { svg: () => figure(options), csv: () => csvOf(options) });
}

/** Downloads a file. */
export function keep(content: Blob, name: string): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}

/** One row per value: line, x and y. */
export function csvOf({ x, y, window, lines }: FigureOptions): string {
  const rows = [["line", named(x), named(y)].map(quoted).join(",")];
  for (const line of lines.filter((one) => !one.reference)) {
    const { t, v } = within(line.samples, window);
    for (let place = 0; place < t.length; place++) rows.push(`${quoted(line.name)},${t[place]},${v[place]}`);
  }
  return `${rows.join("\n")}\n`;
}

function named({ name, unit }: { name: string; unit: string }): string {
  return unit ? `${name} (${unit})` : name;
}

/** As a field of CSV. */
export function quoted(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

async function pngOf(svg: string): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth * SCALE;
  canvas.height = image.naturalHeight * SCALE;
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) =>
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error("the PNG file could not be created"))),
      "image/png",
    ),
  );
}
