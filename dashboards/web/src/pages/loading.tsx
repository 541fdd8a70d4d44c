/** Code that is fetched when it is first wanted. While the service is away it is waited for; where it is gone, it is said why. */
import { type ComponentType, useEffect, useState } from "react";
import { onceReturned, unreachable } from "../api/connection";
import { Problem } from "../api/problem";
import { askWhichPage, outdated } from "../api/upgrade";
import { Waiting } from "../parts/Waiting";

export type Load<P> = () => Promise<{ default: ComponentType<P> }>;

/** The same promise each time. */
export function once<P>(load: Load<P>): Load<P> {
  let known: ReturnType<Load<P>> | null = null;
  return () => {
    known ??= patiently(load);
    return known;
  };
}

/**
 * A component of which the code comes when it is first shown. Not by Suspense: React shows what was waited for 300 ms after it
 * showed that something is waited for, however soon it came.
 */
export function lazily<P extends object>(load: Load<P>): ComponentType<P> {
  let known: ComponentType<P> | null = null;
  return function Loaded(props: P) {
    const [, setCame] = useState(false);
    const [failed, setFailed] = useState<{ why: unknown } | null>(null);
    useEffect(() => {
      if (known !== null) return;
      load().then(
        (found) => {
          known = found.default;
          setCame(true);
        },
        (why: unknown) => setFailed({ why }),
      );
    }, []);
    if (failed !== null) throw failed.why;
    const Shown = known;
    return Shown === null ? <Waiting height="60vh" /> : <Shown {...props} />;
  };
}

async function patiently<P>(load: Load<P>): ReturnType<Load<P>> {
  try {
    return await load();
  } catch (error) {
    if (await isThere()) throw outdated.get() ? gone() : error;
    await onceReturned();
    return patiently(load);
  }
}

async function isThere(): Promise<boolean> {
  try {
    await askWhichPage();
    return true;
  } catch {
    unreachable();
    return false;
  }
}

function gone(): Problem {
  const said = {
    title: "Longhaul was upgraded meanwhile",
    detail: "This part of the page that you have is not there any more.",
    hint: "Reload: what you see is in the address, and stays.",
  };
  return Problem.of(new Response(null, { status: 404 }), said);
}
