/** Rows of the list of moments: which are in sight, their pages, and the one nearest to a time. */

/** The moments of one request. */
export const PAGE = 200;
export const ROW_PX = 24;
/** Rows that are drawn beyond those in sight. */
const AROUND = 10;

interface Page {
  skipped: number;
  total: number;
  moments: readonly { t_s: number }[];
}

/** The rows to draw, in steps of ten, so that most movements draw nothing. */
export function rowsInSight(top: number, height: number): { from: number; to: number } {
  const first = Math.floor(top / ROW_PX);
  const last = Math.ceil((top + height) / ROW_PX);
  return { from: Math.max(0, Math.floor((first - AROUND) / 10) * 10), to: Math.ceil((last + AROUND) / 10) * 10 };
}

/** The pages with these rows; the first one is always there, since it has the number of all. */
export function pagesOf({ from, to }: { from: number; to: number }): number[] {
  const [first, last] = [Math.floor(from / PAGE), Math.floor(Math.max(from, to - 1) / PAGE)];
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}

/** The row nearest to a time, if the loaded pages have it for certain; else null. */
export function nearestIn(pages: readonly Page[], time: number): number | null {
  for (const { skipped, total, moments } of pages) {
    const [first, last] = [moments[0]?.t_s, moments.at(-1)?.t_s];
    if (first === undefined || last === undefined) continue;
    const begins = skipped === 0 || time >= first;
    const ends = skipped + moments.length >= total || time <= last;
    if (!begins || !ends) continue;
    let best = 0;
    moments.forEach(({ t_s }, at) => {
      if (Math.abs(t_s - time) < Math.abs((moments[best]?.t_s ?? 0) - time)) best = at;
    });
    return skipped + best;
  }
  return null;
}
