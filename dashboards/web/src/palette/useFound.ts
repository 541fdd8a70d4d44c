/** Runs and experiments that the service finds for a text: a moment after the last key, and not for a text that has changed since. */
import { useQuery } from "@tanstack/react-query";

import { answered, api, type Schemas } from "../api/client";
import { pointText } from "../data/runDocument";
import { listOf } from "../data/runList";
import { useSettled } from "../hooks";
import { linkTo } from "../navigation/hash";
import type { Choice } from "./choices";

const MOST = 5;
const PATIENCE_MS = 150;

interface Found {
  runs: Choice[];
  experiments: Choice[];
  error: Error | null;
  /** Whether the answer for this text has not arrived. */
  pending: boolean;
}

export function useFound(sought: string): Found {
  const text = sought.trim();
  const settled = useSettled(text, PATIENCE_MS);
  const query = { text: settled, limit: MOST };
  const found = useQuery({
    queryKey: ["palette", settled],
    queryFn: ({ signal }) =>
      Promise.all([
        answered(api.GET("/api/v1/runs", { params: { query }, signal })),
        answered(api.GET("/api/v1/experiments", { params: { query }, signal })),
      ]),
    enabled: settled !== "",
  });
  const pending = text !== "" && (text !== settled || found.isFetching);
  if (found.data === undefined || text === "") {
    return { runs: [], experiments: [], error: text === "" ? null : found.error, pending };
  }
  const [runs, experiments] = found.data;
  return {
    runs: withAll(runs.items.map(runChoice), "runs", settled),
    experiments: withAll(experiments.items.map(experimentChoice), "experiments", settled),
    error: found.error,
    pending,
  };
}

function runChoice({ id, experiment, point, seed, status }: Schemas["RunRow"]): Choice {
  const name = [experiment, pointText(point)].filter(Boolean).join(", ");
  return { key: `run ${id}`, name, note: `${status}, seed ${seed}, ${id.slice(0, 8)}`, link: linkTo(["runs", id]) };
}

function experimentChoice({ id, name, about, status }: Schemas["ExperimentRow"]): Choice {
  const note = [status, id.slice(0, 8), about].filter(Boolean).join(", ");
  return { key: `experiment ${id}`, name, note, link: linkTo(["experiments", id]) };
}

/** With a link to the whole list, if there may be more. */
function withAll(choices: Choice[], what: "runs" | "experiments", text: string): Choice[] {
  if (choices.length < MOST) return choices;
  const name = `All ${what} with “${text}”`;
  return [...choices, { key: `all ${what} ${text}`, name, note: "", link: listOf({ what, q: text }) }];
}
