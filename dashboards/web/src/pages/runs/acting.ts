/** Applies one action to many runs, a few at a time, and counts successes and refusals. */
import { type Problem, problemOf } from "../../api/problem";
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

/** The outcome in one sentence: "3 of 5 runs deleted; 2 refused." */
export function summaryOf(outcome: Outcome, noun: string, verb: string): string {
  const { done, idle, refused, left } = outcome;
  const all = done + idle + refused.length + left.length;
  const nouns = all === 1 ? noun : `${noun}s`;
  const parts = [
    `${done === all ? count(all) : `${count(done)} of ${count(all)}`} ${nouns} ${verb}`,
    idle > 0 && `${count(idle)} had ended already`,
    refused.length > 0 && `${count(refused.length)} refused`,
    left.length > 0 && `${count(left.length)} unchanged`,
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
