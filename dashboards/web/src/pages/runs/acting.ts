/** Applies one action to many runs, a few at a time, and counts successes and refusals. */
import type { Schemas } from "../../api/client";
import { Problem, problemOf } from "../../api/problem";
import { count } from "../../units";

/** Concurrent requests. */
const AT_ONCE = 4;
/** Attempts of one request, if the service states when to retry. */
const MOST_TRIES = 5;

export type Refusal = readonly [id: string, problem: Problem];

export interface Outcome {
  /** Rows that the action changed. */
  done: number;
  /** Rows that needed no change. */
  idle: number;
  refused: readonly Refusal[];
  /** Rows that were not tried: the action was stopped, or the service was away. */
  left: readonly string[];
  /** The number of others that were not tried, whose ids are not known. */
  unknown?: number;
}

export interface Acting {
  /** False if there was nothing to do. */
  act: (id: string) => Promise<boolean>;
  /** Called after each row with the number of rows that are finished. */
  onStep?: (behind: number) => void;
  stop?: AbortSignal;
  sleep?: (seconds: number) => Promise<void>;
}

export async function toEach(ids: readonly string[], { act, onStep, stop, sleep = rest }: Acting): Promise<Outcome> {
  const waiting = [...ids];
  const refused: Refusal[] = [];
  let [done, idle, behind, over] = [0, 0, 0, false];
  const once = async (id: string): Promise<void> => {
    for (let tries = 1; ; tries++) {
      try {
        if (await act(id)) done++;
        else idle++;
        return;
      } catch (error) {
        const problem = problemOf(error);
        if (problem.status === 429 && problem.retryAfterS !== null && tries < MOST_TRIES) {
          await sleep(problem.retryAfterS);
          continue;
        }
        // The service is away or the session has ended: all other requests would fail too.
        if (problem.status === 0 || problem.status === 401) over = true;
        refused.push([id, problem]);
        return;
      }
    }
  };
  const worker = async (): Promise<void> => {
    while (!over && !stop?.aborted) {
      const id = waiting.shift();
      if (id === undefined) return;
      await once(id);
      onStep?.(++behind);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return { done, idle, refused, left: waiting };
}

export interface ActingOnAll {
  /** Acts on the next of the rows that match, from a cursor on. */
  ask: (cursor: string | null) => Promise<Schemas["BulkResult"]>;
  /** The number of rows. */
  all: number;
  onStep?: (behind: number) => void;
  stop?: AbortSignal;
  sleep?: (seconds: number) => Promise<void>;
}

/** The same for all rows that match a filter, request by request. */
export async function toAll({ ask, all, onStep, stop, sleep = rest }: ActingOnAll): Promise<Outcome> {
  const refused: Refusal[] = [];
  let [done, behind, tries] = [0, 0, 1];
  let cursor: string | null = null;
  let isOver = false;
  while (!isOver && !stop?.aborted) {
    try {
      const answer: Schemas["BulkResult"] = await ask(cursor);
      done += answer.done;
      behind += answer.done;
      for (const one of answer.refused) {
        const problem = Problem.of(new Response(null, { status: one.status }), {
          title: "Refused",
          detail: one.what,
          what: one.what,
          hint: one.hint,
        });
        refused.push(...one.runs.map((id): Refusal => [id, problem]));
        behind += one.count;
      }
      tries = 1;
      onStep?.(Math.min(behind, all));
      cursor = answer.next;
      isOver = cursor === null;
    } catch (error) {
      const problem = problemOf(error);
      if (problem.status !== 429 || problem.retryAfterS === null || tries++ >= MOST_TRIES) {
        if (done === 0 && refused.length === 0) throw problem;
        break;
      }
      await sleep(problem.retryAfterS);
    }
  }
  return { done, idle: 0, refused, left: [], unknown: isOver ? 0 : Math.max(0, all - behind) };
}

/** The outcome in one sentence: "3 of 5 runs deleted; 2 refused." */
export function summaryOf(outcome: Outcome, noun: string, verb: string): string {
  const { done, idle, refused, left } = outcome;
  const unchanged = left.length + (outcome.unknown ?? 0);
  const all = done + idle + refused.length + unchanged;
  const nouns = all === 1 ? noun : `${noun}s`;
  const parts = [
    `${done === all ? count(all) : `${count(done)} of ${count(all)}`} ${nouns} ${verb}`,
    idle > 0 && `${count(idle)} had ended already`,
    refused.length > 0 && `${count(refused.length)} refused`,
    unchanged > 0 && `${count(unchanged)} unchanged`,
  ];
  return `${parts.filter(Boolean).join("; ")}.`;
}

export interface Reason {
  /** The first refusal with this reason. */
  problem: Problem;
  ids: readonly string[];
}

/** Refusals by reason, the most frequent reason first. */
export function reasonsOf(refused: readonly Refusal[]): Reason[] {
  const reasons = new Map<string, { problem: Problem; ids: string[] }>();
  for (const [id, problem] of refused) {
    const why = [problem.status, problem.title, problem.what || problem.detail, problem.hint].join("\n");
    const known = reasons.get(why);
    if (known) known.ids.push(id);
    else reasons.set(why, { problem, ids: [id] });
  }
  return [...reasons.values()].sort((one, other) => other.ids.length - one.ids.length);
}

function rest(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
}
