/** The remaining time of a run or an experiment, from the speed so far. */
import type { RunRow } from "../../data/runList";
import { wait } from "../../units";

interface Point {
  atS: number;
  reached: number;
}

// The time that a measured speed covers: recent, as flows that begin make a run slower, and long enough to be steady.
const LEAST_S = 4;
const RECENT_SHARE = 0.5;
// No estimate before this time and this share.
const FIRST_S = 0.8;
const FIRST_SHARE = 0.01;
// A page that opens during a run gets all earlier samples in this time: they come faster than they were simulated.
const CATCHING_UP_S = 2;

// Keeping and measuring a run when it has been simulated, in addition to a share of the time that this took.
const MEASURING_S = 0.5;
const MEASURING_SHARE = 0.2;

/** The speed of a run, from its progress over real time. */
export class Pace {
  #points: Point[] = [];
  #caughtUpS: number | null = null;

  /** `tookS`: the time since the run was started, which may be before the page was opened. */
  note(atS: number, reached: number, tookS: number): void {
    if (this.#caughtUpS === null) {
      const opensLate = tookS > FIRST_S;
      this.#caughtUpS = opensLate ? atS + CATCHING_UP_S : atS;
      if (opensLate) this.#points = [{ atS: atS - tookS, reached: 0 }];
    }
    // Until then it has its mean speed since its start.
    if (atS < this.#caughtUpS) this.#points.splice(1);
    const last = this.#points.at(-1);
    // Another attempt begins again.
    if (last !== undefined && reached < last.reached) this.#points = [];
    if (last === undefined || reached !== last.reached) this.#points.push({ atS, reached });
    const first = this.#points[0];
    if (first === undefined) return;
    const now = this.#points.at(-1)?.atS ?? atS;
    const keptS = Math.max(LEAST_S, (now - first.atS) * RECENT_SHARE);
    while ((this.#points[1]?.atS ?? now) < now - keptS) this.#points.shift();
  }

  /** The real time until the run has reached `end` and is measured; null while the speed is unknown. `tookS`: the time so far. */
  leftS(atS: number, end: number, tookS: number): number | null {
    const [first, last] = [this.#points[0], this.#points.at(-1)];
    if (first === undefined || last === undefined || last.atS - first.atS < FIRST_S) return null;
    if (last.reached < end * FIRST_SHARE || last.reached === first.reached) return null;
    const speed = (last.reached - first.reached) / (last.atS - first.atS);
    const simulatingS = (end - last.reached) / speed - (atS - last.atS);
    return Math.max(0, simulatingS + MEASURING_S + MEASURING_SHARE * (tookS + Math.max(0, simulatingS)));
  }
}

const FEWEST_RUNS = 4;

/** In proportion to its packets, approximately: they take the time. */
const packetsOf = ({ virtual_s, bandwidth_bps }: RunRow): number => virtual_s * (bandwidth_bps || 1);
const sumOf = (rows: readonly RunRow[], of: (row: RunRow) => number): number =>
  rows.reduce((sum, row) => sum + of(row), 0);
const workOf = (rows: readonly RunRow[]): number => sumOf(rows, packetsOf);
const startOf = (rows: readonly RunRow[]): number => Math.min(...rows.map(startMs));

/** NaN before it has started, or ended. */
const startMs = ({ started_at }: RunRow): number => Date.parse(started_at ?? "");
const endMs = ({ finished_at }: RunRow): number => Date.parse(finished_at ?? "");

/** The real time until all runs of an experiment have ended; null until one of them was simulated for it. `rows`: the first of its
 * `total` runs. `since`: the time of its submission, before which other experiments made its other runs.
 */
export function experimentLeftS(rows: readonly RunRow[], total: number, since: string, nowMs: number): number | null {
  const sinceMs = Date.parse(since);
  const own = rows.filter((row) => startMs(row) >= sinceMs);
  const ended = own.filter((row) => row.finished_at !== null && row.status !== "cancelled");
  if (ended.length === 0) return null;
  ended.sort((a, b) => endMs(a) - endMs(b));
  // Often runs take longer from point to point, so the recent ones count.
  const recent = ended.slice(-Math.max(FEWEST_RUNS, Math.ceil(ended.length * RECENT_SHARE)));
  const perMs =
    workOf(recent) /
    Math.max(
      1,
      sumOf(recent, (row) => endMs(row) - startMs(row)),
    );
  // A running run has done as much as they did in its time, but has not ended.
  const running = own.filter((row) => row.status === "running");
  const begun = sumOf(running, (row) => Math.min(packetsOf(row) * 0.95, perMs * Math.max(0, nowMs - startMs(row))));
  const open = rows.filter((row) => row.status === "queued" || row.status === "running");
  const unlisted = (Math.max(0, total - rows.length) * workOf(rows)) / rows.length;
  const left = workOf(open) + unlisted - begun;
  if (left <= 0) return null;
  // As many at a time as until now.
  const atATime = sumOf(own, (row) => (endMs(row) || nowMs) - startMs(row)) / Math.max(1, nowMs - startOf(own));
  return left / (perMs * atATime) / 1000;
}

/** "about 12 s left": no more precise than it is. */
export function leftText(seconds: number): string {
  const step = seconds < 60 ? 1 : seconds < 600 ? 5 : 60;
  return `about ${wait(Math.max(1, Math.round(seconds / step) * step))} left`;
}
