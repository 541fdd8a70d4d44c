/** The columns of runs and of experiments: what each shows, and the order that its head chooses. */
import { pointText } from "../../data/runDocument";
import { type RunRow, shortField } from "../../data/runList";
import { linkTo } from "../../navigation/hash";
import { Ago } from "../../parts/Ago";
import { StatusBadge } from "../../parts/Badge";
import { duration, moment, NONE, percent, plain, rate, spellNumber, wait } from "../../units";
import type { ListColumn, ListedRow } from "./PickTable";
import styles from "./Rows.module.css";

type RunColumn = ListColumn<RunRow>;

/** A swept field as a column: `point.path.rtt`. */
const FIELD = "point.";
/** The columns that are always there, first and last. */
export const STATUS: ListColumn<ListedRow> = {
  key: "status", name: "Status", width: 6, look: styles.state, cell: (row) => <StatusBadge status={row.status} />,
}; // biome-ignore format: one look
export const CREATED: ListColumn<ListedRow> = {
  key: "created", name: "Created", width: 6.5, look: styles.when, sorts: ["newest", "oldest"],
  cell: (row) => <Ago at={row.created_at} />,
}; // biome-ignore format: one look
export const OWNER: ListColumn<ListedRow> = {
  key: "owner", name: "Owner", width: 5.5, look: styles.owner,
  cell: (row) => row.owner ?? <span className="faint">here</span>,
}; // biome-ignore format: one look

/** A column of numbers that a row may lack. */
function measured(
  key: string,
  name: string,
  title: string,
  value: (row: RunRow) => number | null,
  write: (value: number | null) => string,
  width = 7,
): RunColumn {
  return {
    key, name, title, width, number: true, sorts: [key, `-${key}`],
    cell: (row) => write(value(row)), isEmpty: (row) => value(row) === null,
  }; // biome-ignore format: one look
}

/** A column of a time. */
function timed(key: "start" | "end", name: string, of: (row: RunRow) => string | null): RunColumn {
  return {
    key, name, width: 13.5, look: styles.when, sorts: [`-${key}`, key],
    cell: (row) => moment(of(row)), isEmpty: (row) => of(row) === null,
  }; // biome-ignore format: one look
}

const CHOICES: readonly RunColumn[] = [
  {
    key: "cc", name: "CC", title: "Congestion control", width: 6.5, look: styles.controls,
    cell: (row) => row.controls.join(", ") || "udp",
  },
  { key: "path", name: "Path", title: "Bandwidth and RTT of the path", width: 10, look: styles.path, cell: path },
  measured("goodput", "Goodput", "Goodput of all flows together, in the window", (row) => row.goodput_bps, rate, 7),
  measured("rtt", "RTT", "Mean RTT: the mean of the flows' means", (row) => row.rtt_mean_ms, (ms) => duration(ms === null ? null : ms / 1000), 6),
  measured("loss", "Loss", "Packets dropped on the path / packets sent: the mean of the flows", (row) => row.loss_ratio, percent, 5.5),
  measured("utilisation", "Utilisation", "Throughput of all flows / bandwidth, in the window", (row) => row.utilisation, percent, 6.5),
  measured("jain", "Jain", "Jain's index of fairness", (row) => row.jain, plain, 4.5),
  measured("duration", "Duration", "Virtual time", (row) => row.virtual_s, wait, 6),
  measured("took", "Took", "Real time", (row) => row.wall_s, wait, 6),
  measured("seed", "Seed", "The seed of its random draws", (row) => row.seed, (seed) => String(seed), 6.5),
  timed("start", "Started", (row) => row.started_at),
  timed("end", "Ended", (row) => row.finished_at),
  { ...OWNER, sorts: ["owner", "-owner"] },
]; // biome-ignore format: one look

export const USUAL: readonly string[] = ["cc", "path", "goodput", "rtt", "loss", "utilisation", "jain", "owner"];

/** The columns that can be chosen: those of every run, and the swept fields. */
export function choices(fields: readonly string[]): readonly { key: string; name: string }[] {
  return [...CHOICES, ...fields.map((field) => fieldColumn(field))];
}

/** The columns to show; unknown words are left out. */
export function columnsOf(chosen: readonly string[]): readonly RunColumn[] {
  const wanted = chosen.length > 0 ? chosen : USUAL;
  const fields = new Set(wanted.filter(isField).map((key) => key.slice(FIELD.length)));
  const shown = [...CHOICES.filter(({ key }) => wanted.includes(key)), ...[...fields].map(fieldColumn)];
  // The path has these values too.
  const apart = wanted.includes("path") ? [...fields, "path.bandwidth", "path.rtt"] : fields;
  return [STATUS, runColumn(new Set(apart), wanted.includes("seed")), ...shown, CREATED];
}

export function isField(key: string): boolean {
  return key.startsWith(FIELD);
}

function fieldColumn(field: string): RunColumn {
  const key = FIELD + field;
  return {
    key, name: shortField(field), title: field, width: 8, look: styles.path, sorts: [key, `-${key}`],
    cell: (row) => spellNumber(row.point[field] ?? NONE), isEmpty: (row) => row.point[field] === undefined,
  }; // biome-ignore format: one look
}

/** The name of the run with its swept values, but those that have a column. */
function runColumn(apart: ReadonlySet<string>, seedApart: boolean): RunColumn {
  return {
    key: "run", name: "Run", look: styles.what, sorts: ["name", "-name"],
    cell: (row) => (
      <>
        <a href={linkTo(["runs", row.id])}>{row.title || row.experiment}</a>
        {row.rerun_of && <Mark title={`Rerun of run ${row.rerun_of}`}>rerun</Mark>}
        {row.partial && <Mark title="The trace until the run was cancelled; not a result">partial trace</Mark>}
        {row.pinned && <Mark title="Pinned: longhaul prune leaves it">pinned</Mark>}
        <TagMarks tags={row.tags} />
        <span className={styles.point} title={pointText(row.point)}>
          {Object.entries(row.point)
            .filter(([field]) => !apart.has(field))
            .map(([field, value]) => (
              <span key={field}>
                {shortField(field)} {spellNumber(value)}
              </span>
            ))}
          {!seedApart && <span className="faint">seed {row.seed}</span>}
        </span>
      </>
    ),
  }; // biome-ignore format: one look
}

export function TagMarks({ tags }: { tags: readonly string[] }) {
  return tags.map((tag) => (
    <Mark key={tag} title={`Tag ${tag}`}>
      {tag}
    </Mark>
  ));
}

export function Mark({ title, children }: { title: string; children: string }) {
  return (
    <span className={styles.pin} title={title}>
      {children}
    </span>
  );
}

function path(row: RunRow) {
  return (
    <>
      {row.bandwidth_bps === null ? (
        <span className="faint" title="Kept by an earlier version: open the run">
          unknown
        </span>
      ) : (
        `${row.bandwidth_bps === 0 ? "no known rate" : rate(row.bandwidth_bps)} · ${duration((row.rtt_us ?? 0) / 1e6)}`
      )}
      {row.backend !== "sandbox" && <span className="faint"> {row.backend}</span>}
    </>
  );
}
