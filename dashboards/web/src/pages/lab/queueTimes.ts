/** When the next runs of the queue start, by the estimates of all before them. */
import type { Schemas } from "../../api/client";

type Queue = Schemas["Queue"];

/** Seconds until each of the next runs starts, in their order; null without a connected worker. */
export function startsIn({ running, next, workers }: Pick<Queue, "running" | "next" | "workers">): (number | null)[] {
  const slots = workers.filter((one) => one.there).reduce((sum, one) => sum + one.slots, 0);
  if (slots === 0) return next.map(() => null);
  const free = running.slice(0, slots).map((task) => (task.wall_estimate_s ?? 0) * left(task));
  while (free.length < slots) free.push(0);
  return next.map((task) => {
    const soonest = free.indexOf(Math.min(...free));
    const start = free[soonest] ?? 0;
    free[soonest] = start + (task.wall_estimate_s ?? 0);
    return start;
  });
}

/** The part of a running run that is left. */
function left({ progress_s, virtual_s }: Queue["running"][number]): number {
  return virtual_s > 0 ? Math.max(0, 1 - progress_s / virtual_s) : 1;
}
