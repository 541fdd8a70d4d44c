/** Small multiples: a small chart of the band for each pair of values of two swept fields, with common axes. A chart is read when it comes
 * into sight.
 */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { type Measure, SECONDS } from "../../charts/quantities";
import { shortField } from "../../data/runList";
import { Axes, type Axis, type Box } from "../../drawings/Axes";
import { fieldScale, linear } from "../../drawings/scale";
import { oneOf, text, useViewState } from "../../navigation/viewState";
import { LabelledSelect } from "../../parts/Select";
import { spellNumber } from "../../units";
import { type Band, BandPaths, mostOf, rowsOfBands } from "./BandPlot";
import { quantityOf, SERIES, useBands } from "./bandQueries";
import styles from "./Explore.module.css";
import { MultiplesFiles } from "./MultiplesFiles";
import { SeriesChoice } from "./SeriesChoice";
import { linkOf, type SweepPoint } from "./sweep";

const VIEW = { series: oneOf<Measure>(SERIES, "cwnd"), flow: text(), x: text(), y: text(), rest: text() };
const INSTANTS = 80;
const HEIGHT = 130;
/** The width of a chart, and that of the heads of rows. */
const [LEAST, MOST, HEAD] = [190, 420, 130];

interface Props {
  id: string;
  points: readonly SweepPoint[];
  fields: readonly string[];
  flows: readonly string[];
  file: string;
  version: string;
}

export function Multiples({ id, points, fields, flows, file, version }: Props) {
  const [view, setView] = useViewState(VIEW);
  const flow = flows.includes(view.flow) ? view.flow : (flows[0] ?? "");
  const x = fields.includes(view.x) ? view.x : (fields[0] ?? "");
  const y = fields.includes(view.y) && view.y !== x ? view.y : (fields.find((field) => field !== x) ?? "");
  const others = fields.filter((field) => field !== x && field !== y);
  const restOf = ({ point }: SweepPoint): string =>
    others.map((field) => `${shortField(field)} ${point[field]}`).join(", ");
  const rests = [...new Set(points.map(restOf))];
  const rest = rests.includes(view.rest) ? view.rest : (rests[0] ?? "");
  const shown = points.filter((point) => restOf(point) === rest);
  const [columns, rows] = [x, y].map((field) => fieldScale(shown.map(({ point }) => point[field] ?? "")).values);
  const known = useRef(new Map<string, Band>());
  const [seen, setSeen] = useState<readonly string[]>([]);
  const { bands, error } = useBands(id, seen, view.series, flow, INSTANTS, version);
  const found = new Map(seen.map((run, at) => [run, bands[at] ?? null]));
  const all = bands.flatMap((band) => band ?? []);
  const quantity = quantityOf(view.series);
  const most = mostOf(all);
  const end = Math.max(0.001, ...all.map((band) => band.t_s.at(-1) ?? 0));
  const axes = useMemo(
    (): { x: Axis; y: Axis } => ({
      x: { scale: linear([0, end], 3), name: "", texts: SECONDS.ticks },
      y: { scale: linear([0, most * 1.05], 3), name: "", texts: quantity.ticks },
    }),
    [end, most, quantity],
  );
  known.current = new Map([...found].flatMap(([run, band]) => (band ? [[run, band] as const] : [])));
  const see = (run: string): void => setSeen((now) => (now.includes(run) ? now : [...now, run]));
  const table = useRef<HTMLTableElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState(0);
  useLayoutEffect(() => {
    if (frame.current === null) return;
    const resized = new ResizeObserver(([entry]) => setRoom(entry?.contentRect.width ?? 0));
    setRoom(frame.current.clientWidth);
    resized.observe(frame.current);
    return () => resized.disconnect();
  }, []);

  const title = `${quantity.name} by ${shortField(x)}${y && ` and ${shortField(y)}`}`;
  const named = () =>
    shown.flatMap((point) => {
      const band = known.current.get(point.runs[0] ?? "");
      const name = [x, y]
        .filter(Boolean)
        .map((field) => `${shortField(field)} ${point.point[field]}`)
        .join(", ");
      return band ? [{ name, band }] : [];
    });
  return (
    <>
      <div className={styles.controls}>
        <SeriesChoice series={view.series} flow={flow} flows={flows} onChange={setView} />
        {fields.length > 1 && (
          <>
            <LabelledSelect
              label="Columns"
              value={x}
              choices={fields}
              onChange={(field) => setView({ x: field, y: field === y ? x : y })}
            />
            <LabelledSelect
              label="Rows"
              value={y}
              choices={fields}
              onChange={(field) => setView({ y: field, x: field === x ? y : x })}
            />
          </>
        )}
        {rests.length > 1 && (
          <LabelledSelect label="Others" value={rest} choices={rests} onChange={(one) => setView({ rest: one })} />
        )}
        <MultiplesFiles
          title={title}
          file={`${file}-${view.series}-multiples`}
          table={table}
          rows={() => rowsOfBands(named())}
        />
      </div>
      {error && <p role="alert">{String(error)}</p>}
      <div ref={frame} className={styles.frame}>
        <table ref={table} className={styles.multiples} aria-label={title}>
          <thead>
            <tr>
              <td>
                {y && <>{shortField(y)} ↓ </>}
                {shortField(x)} →
              </td>
              {columns?.map((column) => (
                <th key={column} scope="col">
                  {spellNumber(column)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {(rows?.length ? rows : [""]).map((row) => (
              <tr key={row}>
                <th scope="row">{spellNumber(row)}</th>
                {columns?.map((column) => {
                  const point = shown.find(
                    (one) => (one.point[x] ?? "") === column && (y === "" || one.point[y] === row),
                  );
                  return (
                    <td key={column}>
                      {point && (
                        <Small
                          point={point}
                          name={`${spellNumber(row)} ${spellNumber(column)}`}
                          band={found.get(point.runs[0] ?? "") ?? null}
                          axes={axes}
                          say={quantity.say}
                          width={Math.round(Math.max(LEAST, Math.min(MOST, (room - HEAD) / columns.length - 12)))}
                          onSee={see}
                        />
                      )}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="foot">
        {quantity.name}: mean over the repeats and its 95 % band, over time, all with the same axes. A press opens the
        point.
      </p>
    </>
  );
}

/** One chart; it is read when it first comes into sight. */
function Small({
  point,
  name,
  band,
  axes,
  say,
  width,
  onSee,
}: {
  width: number;
  point: SweepPoint;
  name: string;
  band: Band | null;
  axes: { x: Axis; y: Axis };
  say: (value: number | null) => string;
  onSee: (run: string) => void;
}) {
  const place = useRef<HTMLAnchorElement>(null);
  const box: Box = { left: 58, top: 14, width: width - 58 - 10, height: HEIGHT - 14 - 20 };
  const run = point.runs[0] ?? "";
  // biome-ignore lint/correctness/useExhaustiveDependencies: another point is another chart
  useEffect(() => {
    if (place.current === null) return;
    const watcher = new IntersectionObserver(([entry]) => {
      if (entry?.isIntersecting) onSee(run);
    });
    watcher.observe(place.current);
    return () => watcher.disconnect();
  }, [run]);
  const means = (band?.mean ?? []).flatMap((value) => value ?? []);
  const text = means.length > 0 ? `from ${say(Math.min(...means))} to ${say(Math.max(...means))}` : "no values";
  return (
    <a ref={place} href={linkOf(point)} style={{ minHeight: HEIGHT }}>
      <svg
        width={width}
        height={HEIGHT}
        viewBox={`0 0 ${width} ${HEIGHT}`}
        role="img"
        aria-label={`${name}: ${band ? text : "loading"}`}
      >
        {band && (
          <>
            <Axes box={box} x={axes.x} y={axes.y} />
            <BandPaths band={band} box={box} x={axes.x.scale} y={axes.y.scale} place={0} />
          </>
        )}
      </svg>
    </a>
  );
}
