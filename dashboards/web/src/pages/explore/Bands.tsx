/** The mean of a series over the repeats of one point, or of several points, over time, with 95 % bands. */
import { useMemo, useState } from "react";
import { type Measure, SECONDS, withUnit } from "../../charts/quantities";
import { pointText } from "../../data/runDocument";
import { Axes, type Axis, atX, boxOf } from "../../drawings/Axes";
import { Drawing } from "../../drawings/Drawing";
import { linear } from "../../drawings/scale";
import { list, oneOf, text, useViewState } from "../../navigation/viewState";
import { ErrorNote } from "../../parts/ErrorNote";
import { Waiting } from "../../parts/Waiting";
import { type Band, BandPaths, mostOf, rowsOfBands } from "./BandPlot";
import { quantityOf, SERIES, useBands } from "./bandQueries";
import styles from "./Explore.module.css";
import { SeriesChoice } from "./SeriesChoice";
import type { SweepPoint } from "./sweep";

const VIEW = { series: oneOf<Measure>(SERIES, "cwnd"), flow: text(), points: list() };
const HEIGHT = 380;
const MOST_POINTS = 4;
const INSTANTS = 200;

interface Props {
  id: string;
  points: readonly SweepPoint[];
  flows: readonly string[];
  file: string;
  version: string;
}

export function Bands({ id, points, flows, file, version }: Props) {
  const [view, setView] = useViewState(VIEW);
  const [share, setShare] = useState<number | null>(null);
  const flow = flows.includes(view.flow) ? view.flow : (flows[0] ?? "");
  // A point is named by its first run.
  const firsts = points.map(({ runs }) => runs[0] ?? "");
  const wanted = view.points.filter((run) => firsts.includes(run)).slice(0, MOST_POINTS);
  const runs = wanted.length > 0 ? wanted : firsts.slice(0, 1);
  const { bands, error, pending } = useBands(id, runs, view.series, flow, INSTANTS, version);
  const key = runs.join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the bands of these runs
  const named = useMemo(
    () =>
      bands.flatMap((band, at) =>
        band === null ? [] : [{ name: pointText(band.point) || "the only point", band, place: at }],
      ),
    [key, bands],
  );
  const quantity = quantityOf(view.series);
  const end = Math.max(0.001, ...named.map(({ band }) => band.t_s.at(-1) ?? 0));
  const x = useMemo((): Axis => ({ scale: linear([0, end], 7), name: SECONDS.name, texts: SECONDS.ticks }), [end]);
  const most = mostOf(named.map(({ band }) => band));
  const y = useMemo(
    (): Axis => ({ scale: linear([0, most * 1.05]), name: withUnit(quantity), texts: quantity.ticks }),
    [most, quantity],
  );
  const time = share === null ? null : share * end;
  const single = named.filter(({ band }) => band.runs.length < 2);
  return (
    <>
      <div className={styles.controls}>
        <SeriesChoice series={view.series} flow={flow} flows={flows} onChange={setView} />
      </div>
      {error && <ErrorNote error={error} />}
      {named.length === 0 && pending ? (
        <Waiting label="Reading the repeats" height={`${HEIGHT + 60}px`} />
      ) : (
        <Drawing
          title={`${quantity.name} over repeats`}
          file={`${file}-${view.series}-bands`}
          height={HEIGHT}
          onPoint={(place, width) => {
            const box = boxOf(width, HEIGHT);
            setShare(place && Math.max(0, Math.min(1, (place.x - box.left) / box.width)));
          }}
          onKey={({ key: pressed, shiftKey }) => {
            const by = ({ ArrowLeft: -0.01, ArrowRight: 0.01 }[pressed] ?? 0) * (shiftKey ? 10 : 1);
            if (by !== 0) setShare(Math.max(0, Math.min(1, (share ?? 0) + by)));
            return by !== 0;
          }}
          found={
            time === null
              ? ""
              : `${SECONDS.say(time)}: ${named.map((one) => sayAt(one, time, quantity.say)).join("; ")}`
          }
          rows={() => rowsOfBands(named)}
          keys={[
            ...named.map(({ name, band, place }) => ({
              sample: <BandSample place={place} />,
              text: `${name}: mean of ${band.runs.length}${band.left_out > 0 ? ` of ${band.runs.length + band.left_out}` : ""} runs of ${band.of}`,
            })),
            ...(single.length < named.length
              ? [
                  {
                    sample: <rect width="20" height="12" fill="currentColor" opacity="0.22" />,
                    text: "95 % interval of the mean at each instant (Student’s t)",
                  },
                ]
              : []),
          ]}
          foot={
            single.length > 0 && (
              <p className="foot">A point with one run has no band: set `repeats` in the experiment.</p>
            )
          }
        >
          {(width) => {
            const box = boxOf(width, HEIGHT);
            return (
              <>
                <Axes box={box} x={x} y={y} />
                {named.map(({ name, band, place }) => (
                  <BandPaths key={name} band={band} box={box} x={x.scale} y={y.scale} place={place} />
                ))}
                {time !== null && (
                  <path
                    d={`M${atX(box, x.scale, time)} ${box.top}v${box.height}`}
                    stroke="var(--text-3)"
                    strokeDasharray="3 3"
                    data-pointer=""
                  />
                )}
              </>
            );
          }}
        </Drawing>
      )}
      {points.length > 1 && (
        <fieldset className={styles.points}>
          <legend>Points, up to {MOST_POINTS} at a time</legend>
          {points.map((point) => {
            const run = point.runs[0] ?? "";
            const isShown = runs.includes(run);
            return (
              <label key={run}>
                <input
                  type="checkbox"
                  checked={isShown}
                  disabled={!isShown && runs.length >= MOST_POINTS}
                  onChange={() => setView({ points: isShown ? runs.filter((one) => one !== run) : [...runs, run] })}
                />{" "}
                {pointText(point.point)}
              </label>
            );
          })}
        </fieldset>
      )}
    </>
  );
}

function BandSample({ place }: { place: number }) {
  return <path d="M0 6h20" stroke={`var(--flow-${place % 8})`} strokeWidth="2.5" />;
}

function sayAt(
  { name, band }: { name: string; band: Band },
  time: number,
  say: (value: number | null) => string,
): string {
  const at = Math.max(
    0,
    band.t_s.findLastIndex((t) => t <= time),
  );
  const [low, high] = [band.low[at] ?? null, band.high[at] ?? null];
  return `${name} ${say(band.mean[at] ?? null)}${low === null ? "" : ` (${say(low)} – ${say(high)})`}`;
}
