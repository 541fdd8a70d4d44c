/** The mean of a series over repeats with its 95 % band, as paths in a box. */
import { memo } from "react";
import type { Schemas } from "../../api/client";
import { atX, atY, type Box } from "../../drawings/Axes";
import type { Scale } from "../../drawings/scale";

export type Band = Schemas["Band"];

interface Props {
  band: Band;
  box: Box;
  x: Scale;
  y: Scale;
  /** Its place among the bands, for its colour and its dashes. */
  place: number;
}

const DASHES = ["", "7 3", "2 3", "10 3 2 3"];

export const BandPaths = memo(function BandPaths({ band, box, x, y, place }: Props) {
  const top = (value: number): number => Math.max(box.top, Math.min(box.top + box.height, atY(box, y, value)));
  const left = band.t_s.map((t) => atX(box, x, t).toFixed(1));
  const known = band.t_s.flatMap((_, at) => (band.low[at] == null || band.high[at] == null ? [] : [at]));
  const upper = known.map((at) => `${left[at]} ${top(band.high[at] ?? 0).toFixed(1)}`);
  const lower = known.toReversed().map((at) => `${left[at]} ${top(band.low[at] ?? 0).toFixed(1)}`);
  let [mean, pen] = ["", "M"];
  band.mean.forEach((value, at) => {
    if (value === null) pen = "M";
    else {
      mean += `${pen}${left[at]} ${top(value).toFixed(1)}`;
      pen = "L";
    }
  });
  const colour = `var(--flow-${place % 8})`;
  return (
    <g>
      {known.length > 1 && <path d={`M${[...upper, ...lower].join("L")}Z`} fill={colour} fillOpacity="0.22" />}
      <path
        d={mean}
        fill="none"
        stroke={colour}
        strokeWidth="1.6"
        strokeLinejoin="round"
        strokeDasharray={DASHES[place % DASHES.length]}
      />
    </g>
  );
});

/** The greatest value to draw of some bands: of the means, and of the bands if they are not much wider. */
export function mostOf(bands: readonly Band[]): number {
  const means = bands.flatMap(({ mean }) => mean.flatMap((value) => value ?? []));
  const highs = bands.flatMap(({ high }) => high.flatMap((value) => value ?? []));
  const most = Math.max(0, ...means);
  return Math.max(most, Math.min(Math.max(0, ...highs), most * 1.5)) || 1;
}

export function rowsOfBands(named: readonly { name: string; band: Band }[]) {
  return [
    ["point", "of", "t_s", "mean", "low", "high", "runs"],
    ...named.flatMap(({ name, band }) =>
      band.t_s.map((t, at) => [
        name,
        band.of,
        t,
        band.mean[at] ?? null,
        band.low[at] ?? null,
        band.high[at] ?? null,
        band.count[at] ?? 0,
      ]),
    ),
  ];
}
