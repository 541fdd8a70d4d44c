/** The tooltip of a chart: all values at the pointer, largest first, and the moments close to it. Written without React, because
 * the pointer changes it with every frame.
 */
import styles from "./Chart.module.css";
import { type Line, type Mark, valued } from "./line";
import type { Quantity } from "./quantities";
import { sortedAt } from "./readings";
import type { Span } from "./span";

export interface TipOptions {
  span: Span;
  x: Quantity;
  y: Quantity;
  lines: readonly Line[];
  marks: readonly Mark[];
}

/** The most values in the tooltip; the legend has all of them. */
const MOST_VALUES = 12;

/** Writes the tooltip next to the pointer; without a pointer it is empty. */
export function writeTip(tip: HTMLElement, options: TipOptions): void {
  const { span, x, lines, y } = options;
  const time = span.cursor;
  if (time === null) {
    tip.replaceChildren();
    return;
  }
  const values = sortedAt(valued(lines), span.shown, time).filter(({ value }) => value !== null);
  const parts = [part("time", x.say(time))];
  for (const { line, value } of values.slice(0, MOST_VALUES)) {
    const row = part("value", "");
    row.style.setProperty("--line-colour", line.colour);
    row.style.setProperty("--line-style", line.dash.length > 0 ? "dashed" : "solid");
    row.append(part("name", line.name), part("number", y.say(value)));
    parts.push(row);
  }
  if (values.length > MOST_VALUES) parts.push(part("time", `and ${values.length - MOST_VALUES} more`));
  for (const mark of near(options, time)) parts.push(part("mark", mark.text));
  tip.replaceChildren(...parts);
  // On the side with more space.
  const [from, to] = span.shown;
  tip.dataset.side = time > (from + to) / 2 ? "left" : "right";
}

/** All of it as one text, for screen readers. */
export function tipText(options: TipOptions): string {
  const { span, x, y, lines } = options;
  const time = span.cursor ?? span.shown[1];
  const values = sortedAt(valued(lines), span.shown, time).filter(({ value }) => value !== null);
  const texts = values.map(({ line, value }) => `${line.name} ${y.say(value)}`);
  return [x.say(time), ...texts, ...near(options, time).map((mark) => mark.text)].join(", ");
}

function near({ span, marks }: TipOptions, time: number): Mark[] {
  const [from, to] = span.shown;
  return marks.filter((mark) => Math.abs(mark.t - time) < (to - from) / 120);
}

function part(kind: "time" | "value" | "name" | "number" | "mark", text: string): HTMLElement {
  const element = document.createElement("span");
  element.className = styles[kind] ?? "";
  element.textContent = text;
  return element;
}
