/** Code that is fetched on first use. While the service is away the page waits; after an upgrade it offers to reload. */
import { type ComponentType, useEffect, useState } from "react";
import { onceReturned, unreachable } from "../api/connection";
import { Problem } from "../api/problem";
import { checkVersion, outdated } from "../api/upgrade";
import { Waiting } from "../parts/Waiting";

export type Load<P> = () => Promise<{ default: ComponentType<P> }>;

/** Loads once: returns the same promise each time. */
export function once<P>(load: Load<P>): Load<P> {
  let known: ReturnType<Load<P>> | null = null;
  return () => {
    known ??= retryWhileAway(load);
    return known;
  };
}

/** A component whose code is loaded when it is first shown. Not with Suspense: after showing its fallback, React waits 300 ms
 * before it shows the component, even if the code arrives sooner.
 */
export function lazily<P extends object>(load: Load<P>, height = "60vh"): ComponentType<P> {
  let known: ComponentType<P> | null = null;
  return function Loaded(props: P) {
    const [, setLoaded] = useState(false);
    const [failed, setFailed] = useState<{ why: unknown } | null>(null);
    useEffect(() => {
      if (known !== null) return;
      load().then(
        (found) => {
          known = found.default;
          setLoaded(true);
        },
        (why: unknown) => setFailed({ why }),
      );
    }, []);
    if (failed !== null) throw failed.why;
    const Shown = known;
    return Shown === null ? <Waiting height={height} /> : <Shown {...props} />;
  };
}

async function retryWhileAway<P>(load: Load<P>): ReturnType<Load<P>> {
  try {
    return await load();
  } catch (error) {
    if (await isReachable()) throw outdated.get() ? upgraded() : error;
    await onceReturned();
    return retryWhileAway(load);
  }
}

async function isReachable(): Promise<boolean> {
  try {
    await checkVersion();
    return true;
  } catch {
    unreachable();
    return false;
  }
}

function upgraded(): Problem {
  const body = {
    title: "Longhaul was upgraded",
    detail: "This part of the page is from the previous version, and no longer exists.",
    hint: "Reload the page. The view stays, because its state is in the address.",
  };
  return Problem.of(new Response(null, { status: 404 }), body);
}
