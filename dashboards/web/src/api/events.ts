/** A stream of server-sent events that resumes after the last event whenever it breaks, so that no event is lost or doubled,
 * whether the network, a proxy or the service was interrupted.
 *
 *     connecting --> open --> waiting --> connecting ...      over: the last event, or a permanent error
 * A hidden page waits too.
 */
import { useEffect, useState } from "react";
import { useLatest } from "../hooks";
import { addressOf } from "./address";
import { ask } from "./client";
import { Problem, problemOf } from "./problem";
import { inSight, onceUnseen } from "./sight";
import { EventReader, type ServerEvent } from "./sse";

export type FollowState = "connecting" | "open" | "waiting" | "over";

export interface Following {
  onEvent: (event: ServerEvent) => void;
  onState: (state: FollowState, problem: Problem | null) => void;
  /** Whether an event is the last of the stream. */
  isLast: (event: ServerEvent) => boolean;
}

// The service sends a heartbeat every 15 s: after this much silence the connection is dead.
const SILENCE_MS = 40_000;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;

/** Follows the stream of a path of the API until the returned function is called. */
export function follow(path: string, following: Following): () => void {
  const stopped = new AbortController();
  void keepFollowing(path, following, stopped.signal).catch((error: unknown) => {
    if (!stopped.signal.aborted) following.onState("over", problemOf(error));
  });
  return () => stopped.abort();
}

async function keepFollowing(path: string, following: Following, stopped: AbortSignal): Promise<void> {
  let last = "";
  let waitMs = FIRST_WAIT_MS;
  let problem: Problem | null = null;
  while (!stopped.aborted) {
    await inSight(stopped);
    if (stopped.aborted) return;
    following.onState("connecting", problem);
    try {
      for await (const event of connected(path, last, stopped, () => following.onState("open", null))) {
        waitMs = FIRST_WAIT_MS;
        if (event.id !== "" && event.id === last) continue;
        last = event.id || last;
        following.onEvent(event);
        if (following.isLast(event)) {
          following.onState("over", null);
          return;
        }
      }
      problem = null;
    } catch (error) {
      if (stopped.aborted) return;
      problem = problemOf(error);
      if (!problem.passing) throw problem;
    }
    if (stopped.aborted) return;
    if (document.hidden) {
      // The page itself closed the connection.
      problem = null;
      following.onState("waiting", null);
      continue;
    }
    following.onState("waiting", problem);
    // A random delay, so that not all pages reconnect at once after a restart.
    await pause(waitMs * (0.75 + Math.random() / 2), stopped);
    waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2);
  }
}

/** The events of one connection, until it ends or breaks. */
async function* connected(
  path: string,
  last: string,
  stopped: AbortSignal,
  opened: () => void,
): AsyncGenerator<ServerEvent> {
  const broken = new AbortController();
  const stop = (): void => broken.abort();
  stopped.addEventListener("abort", stop);
  const cancelUnseen = onceUnseen(stop);
  let silence = window.setTimeout(stop, SILENCE_MS);
  try {
    const headers = new Headers({ Accept: "text/event-stream" });
    if (last !== "") headers.set("Last-Event-ID", last);
    const response = await ask(new Request(addressOf(path), { headers, signal: broken.signal, cache: "no-store" }));
    if (!response.ok || response.body === null) {
      throw Problem.of(response, await response.json().catch(() => null));
    }
    opened();
    const reader = new EventReader();
    const pieces = response.body.pipeThrough(new TextDecoderStream()).getReader();
    while (true) {
      const { done, value } = await pieces.read();
      if (done) return;
      window.clearTimeout(silence);
      silence = window.setTimeout(stop, SILENCE_MS);
      yield* reader.push(value);
    }
  } catch (error) {
    if (error instanceof Problem) throw error;
    // The stream broke off.
    throw Problem.unreachable();
  } finally {
    cancelUnseen();
    window.clearTimeout(silence);
    stopped.removeEventListener("abort", stop);
    broken.abort();
  }
}

function pause(ms: number, stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = window.setTimeout(resolve, ms);
    stopped.addEventListener(
      "abort",
      () => {
        window.clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}

/** Follows a stream while the component is mounted; without a path it does nothing. */
export function useEvents(
  path: string | null,
  onEvent: (event: ServerEvent) => void,
  isLast: (event: ServerEvent) => boolean,
): { state: FollowState; problem: Problem | null } {
  const [now, setNow] = useState<{ state: FollowState; problem: Problem | null }>({
    state: "connecting",
    problem: null,
  });
  const latest = useLatest({ onEvent, isLast });
  useEffect(() => {
    if (path === null) return;
    return follow(path, {
      onEvent: (event) => latest.current.onEvent(event),
      isLast: (event) => latest.current.isLast(event),
      onState: (state, problem) => setNow({ state, problem }),
    });
  }, [path, latest]);
  return now;
}
