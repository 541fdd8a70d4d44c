/** What is new about the user's experiments since an earlier look, as titles and texts. */
import type { Schemas } from "../api/client";
import { count } from "../units";

type Row = Pick<Schemas["ExperimentRow"], "id" | "name" | "status" | "progress">;

export interface News {
  experiment: string;
  title: string;
  body: string;
  /** Of the same experiment a later one replaces an earlier one, except for a broken baseline. */
  tag: string;
}

const ENDS = ["done", "missed", "failed", "cancelled"] as const;

/** The experiments among `rows` that have ended, or whose first expectation was missed. `reported` are those whose misses are known. */
export function newsOf(rows: readonly Row[], ended: ReadonlySet<string>, reported: Set<string>): News[] {
  const news: News[] = [];
  for (const row of rows) {
    const missed = row.progress.missed > 0 && !reported.has(row.id);
    if (missed) reported.add(row.id);
    if (ended.has(row.id)) news.push(endOf(row));
    else if (missed) news.push(newsAbout(row, `${row.name} missed an expectation`));
  }
  return news;
}

function endOf(row: Row): News {
  return newsAbout(row, `${row.name}: ${row.status}`);
}

function newsAbout({ id, progress }: Row, title: string): News {
  const ends = ENDS.filter((end) => progress[end] > 0).map((end) => `${count(progress[end])} ${end}`);
  return { experiment: id, title, body: `${ends.join(", ")} of ${runs(progress.total)}`, tag: `longhaul-${id}` };
}

export function brokenBaseline({ id, name }: Row, branch: string, worse: readonly string[]): News {
  const title = `${name} is worse than the baseline of ${branch}`;
  return { experiment: id, title, body: `Worse: ${worse.join(", ")}`, tag: `longhaul-${id}-baseline` };
}

function runs(total: number): string {
  return total === 1 ? "1 run" : `${count(total)} runs`;
}
