/** Watches the user's own experiments for the browser's notifications, also while the tab is hidden: the changes of the lab, every few seconds.
 * It begins with the present: what ended while no page was open is not reported.
 */
import { answered, api, type Schemas } from "../api/client";
import { linkTo } from "../navigation/hash";
import { go, routeNow } from "../navigation/route";
import { show, state } from "./choice";
import { brokenBaseline, type News, newsOf } from "./news";

const POLL_MS = 5000;
const MOST_CHANGES = 500;
const MOST_ROWS = 200;
/** The service compares larger experiments on request only. */
const MOST_COMPARED = 1000;
const BRANCH = "main";
const MOST_GATES = 20;

/** Watch until the returned function is called. Of all tabs one watches; when it is closed, another one does. */
export function watchExperiments(user: string): () => void {
  const stopped = new AbortController();
  const { signal } = stopped;
  navigator.locks.request("longhaul.notify", { signal }, () => keepWatching(user, signal)).catch(() => undefined);
  return () => stopped.abort();
}

async function keepWatching(user: string, stopped: AbortSignal): Promise<void> {
  const reported = new Set<string>();
  let last: number | null = null;
  while (!stopped.aborted) {
    try {
      if (last === null) {
        newsOf(await ownExperiments(user), new Set(), reported);
        last = (await changesAfter(undefined)).last;
      }
      const { ended, missed, position } = await readChanges(last);
      if (ended.size > 0 || missed) {
        const rows = await ownExperiments(user);
        if (stopped.aborted) return;
        for (const news of newsOf(rows, ended, reported)) report(news);
        for (const row of rows.filter(({ id }) => ended.has(id))) await compareWithBaseline(row);
      }
      last = position;
    } catch {
      // The service is away, or the session has ended: the same changes are read later.
    }
    await pause(stopped);
  }
}

function changesAfter(after: number | undefined): Promise<Schemas["Changes"]> {
  const query = after === undefined ? {} : { after, limit: MOST_CHANGES };
  return answered(api.GET("/api/v1/changes", { params: { query } }));
}

async function readChanges(after: number) {
  const ended = new Set<string>();
  let [position, missed] = [after, false];
  while (true) {
    const { last, items } = await changesAfter(position);
    position = last;
    for (const { kind, experiment, data } of items) {
      if (kind === "experiment.finished" && experiment !== null) ended.add(experiment);
      missed ||= kind === "run.finished" && data.status === "missed";
    }
    if (items.length < MOST_CHANGES) return { ended, missed, position };
  }
}

async function ownExperiments(owner: string): Promise<readonly Schemas["ExperimentRow"][]> {
  const query = { owner, limit: MOST_ROWS };
  return (await answered(api.GET("/api/v1/experiments", { params: { query } }))).items;
}

/** One is enough for the page that shows the experiment already. */
function report({ experiment, title, body, tag }: News): void {
  const [page, id] = routeNow().path;
  if (!document.hidden && document.hasFocus() && page === "experiments" && id === experiment) return;
  if (state.get() === "on") show(title, body, tag, () => go(linkTo(["experiments", experiment])));
}

async function compareWithBaseline(row: Schemas["ExperimentRow"]): Promise<void> {
  const kept = row.status === "done" || row.status === "missed";
  if (!kept || row.rerun_of !== null || row.progress.total > MOST_COMPARED) return;
  const baselines = await answered(api.GET("/api/v1/baselines"));
  const baseline = baselines.find(({ name, branch }) => name === row.name && branch === BRANCH);
  if (baseline === undefined || baseline.experiment_id === row.id) return;
  const query = { a: baseline.experiment_id, b: row.id };
  const flows = (await compared(query)).filter(({ measure, phase }) => measure === "goodput" && phase === null);
  const gate = [...new Set(flows.map(({ flow }) => `goodput(${flow})`))].slice(0, MOST_GATES);
  if (gate.length === 0) return;
  const worse = (await compared({ ...query, gate })).filter(
    ({ gates, verdict }) => gates && (verdict === "worse" || verdict === "missing"),
  );
  if (worse.length > 0) {
    const names = new Set(worse.map(({ measure, flow }) => (flow ? `${measure}(${flow})` : measure)));
    report(brokenBaseline(row, BRANCH, [...names]));
  }
}

interface Compared {
  measure: string;
  flow: string | null;
  phase: string | null;
  gates: boolean;
  verdict: string;
}

async function compared(query: { a: string; b: string; gate?: string[] }): Promise<readonly Compared[]> {
  const found = await answered(api.GET("/api/v1/comparisons", { params: { query } }));
  return found.measures as Compared[];
}

function pause(stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = window.setTimeout(resolve, POLL_MS);
    stopped.addEventListener("abort", () => {
      window.clearTimeout(timer);
      resolve();
    });
  });
}
