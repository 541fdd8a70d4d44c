/** Small multiples as one SVG or PNG file, or their values as CSV. */
import type { RefObject } from "react";
import type { Form } from "../../charts/exporting";
import { SaveButtons } from "../../charts/Tools";
import { type Rows, saveDrawing } from "../../drawings/saving";

interface Props {
  title: string;
  file: string;
  table: RefObject<HTMLTableElement | null>;
  rows: () => Rows;
}

const [LEFT, TOP] = [110, 24];

export function MultiplesFiles({ title, file, table, rows }: Props) {
  const save = (form: Form): void => {
    const svg = table.current && composed(table.current);
    if (svg) void saveDrawing(form, file, { svg, title, keys: ["mean over the repeats and its 95 % band"], rows });
  };
  return <SaveButtons onSave={save} />;
}

/** The charts of a table as one drawing with the heads of its columns and rows. */
function composed(table: HTMLTableElement): SVGSVGElement | null {
  const first = table.querySelector("tbody svg");
  if (!(first instanceof SVGSVGElement)) return null;
  const { width, height } = first.viewBox.baseVal;
  const space = "http://www.w3.org/2000/svg";
  const whole = document.createElementNS(space, "svg");
  const write = (text: string, x: number, y: number, anchor: string): void => {
    const label = document.createElementNS(space, "text");
    for (const [name, value] of Object.entries({ x, y, "text-anchor": anchor, "font-size": 12, fill: "var(--text)" })) {
      label.setAttribute(name, String(value));
    }
    label.textContent = text;
    whole.append(label);
  };
  const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent ?? "");
  const rows = [...table.querySelectorAll("tbody tr")];
  whole.setAttribute("viewBox", `0 0 ${LEFT + heads.length * width} ${TOP + rows.length * height}`);
  heads.forEach((text, at) => {
    write(text, LEFT + (at + 0.5) * width, 14, "middle");
  });
  rows.forEach((row, down) => {
    write(row.querySelector("th")?.textContent ?? "", LEFT - 8, TOP + (down + 0.5) * height, "end");
    [...row.querySelectorAll("td")].forEach((cell, across) => {
      const chart = cell.querySelector("svg")?.cloneNode(true) as SVGSVGElement | undefined;
      chart?.setAttribute("x", String(LEFT + across * width));
      chart?.setAttribute("y", String(TOP + down * height));
      if (chart) whole.append(chart);
    });
  });
  return whole;
}
