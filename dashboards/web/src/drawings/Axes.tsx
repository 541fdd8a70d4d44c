/** The two axes of a drawing with grid lines, ticks and names. */
import { Fragment } from "react";
import type { Scale } from "./scale";

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

export interface Axis {
  scale: Scale;
  name: string;
  /** The texts of the ticks. */
  texts: (values: readonly number[]) => readonly string[];
}

/** The space around a drawing with axes: beside the y axis as charts have it, so that times line up. */
export function boxOf(width: number, height: number, foot = 44): Box {
  return { left: 68, top: 18, width: Math.max(10, width - 68 - 20), height: Math.max(10, height - 18 - foot) };
}

export const atX = (box: Box, { share }: Scale, value: number): number => box.left + share(value) * box.width;
export const atY = (box: Box, { share }: Scale, value: number): number => box.top + (1 - share(value)) * box.height;

const CHARACTER_PX = 6.3;
const TEXT = { fontSize: 11, fill: "var(--text-3)" } as const;

export function Axes({ box, x, y }: { box: Box; x: Axis; y: Axis }) {
  const [right, foot] = [box.left + box.width, box.top + box.height];
  const xs = spaced(x.scale.ticks, (value) => atX(box, x.scale, value), 56);
  const ys = spaced(y.scale.ticks, (value) => atY(box, y.scale, value), 16);
  const [xTexts, yTexts] = [x.texts(xs), y.texts(ys)];
  return (
    <g>
      {ys.map((value, at) => (
        <Fragment key={value}>
          <path d={`M${box.left} ${round(atY(box, y.scale, value))}H${right}`} stroke="var(--line)" />
          <text x={box.left - 6} y={round(atY(box, y.scale, value) + 4)} textAnchor="end" {...TEXT}>
            <Fitted text={yTexts[at] ?? ""} x={box.left - 6} />
          </text>
        </Fragment>
      ))}
      {xs.map((value, at) => (
        <Fragment key={value}>
          <path d={`M${round(atX(box, x.scale, value))} ${box.top}V${foot}`} stroke="var(--line)" />
          <text x={round(atX(box, x.scale, value))} y={foot + 15} textAnchor="middle" {...TEXT}>
            {xTexts[at]}
          </text>
        </Fragment>
      ))}
      <path d={`M${box.left} ${box.top}V${foot}H${right}`} fill="none" stroke="var(--line-strong)" />
      <text x={right} y={foot + 32} textAnchor="end" {...TEXT} fill="var(--text-2)">
        {x.name}
      </text>
      <text x={4} y={11} {...TEXT} fill="var(--text-2)">
        {y.name}
      </text>
    </g>
  );
}

/** A text beside the axis: a unit that does not fit goes below its number. */
function Fitted({ text, x }: { text: string; x: number }) {
  const [number = "", ...unit] = text.split(" ");
  if (text.length * CHARACTER_PX < x || unit.length === 0) return text;
  return (
    <>
      <tspan x={x}>{number}</tspan>
      <tspan x={x} dy="11">
        {unit.join(" ")}
      </tspan>
    </>
  );
}

/** Ticks in the drawing that are so far apart that their texts do not meet. */
function spaced(ticks: readonly number[], at: (value: number) => number, least: number): number[] {
  const found: number[] = [];
  let last: number | null = null;
  for (const tick of ticks) {
    const place = at(tick);
    if (!Number.isFinite(place) || (last !== null && Math.abs(place - last) < least)) continue;
    found.push(tick);
    last = place;
  }
  return found;
}

export const round = (value: number): number => Math.round(value * 10) / 10;

/** Dots of one colour as one path: a stroke with round ends draws a dot for each. */
export function dots(points: Iterable<readonly [x: number, y: number]>): string {
  let path = "";
  for (const [x, y] of points) path += `M${round(x)} ${round(y)}h0`;
  return path;
}
