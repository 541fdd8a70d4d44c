/** A link that carries the draft; and what a link brought: a draft, the name of an experiment that comes with the lab, or one that was launched. */
import { type ReactNode, useEffect, useState } from "react";
import { problemOf } from "../../api/problem";
import { linkTo } from "../../navigation/route";
import { text, useViewState, writeView } from "../../navigation/viewState";
import { Button } from "../../parts/Button";
import { ErrorNote } from "../../parts/ErrorNote";
import { useStore } from "../../store";
import { againOf } from "./again";
import { fileOf } from "./catalogue";
import { type Draft, draft, FIRST, packed, replaceDraft, replaced, unpacked } from "./draft";

const ARRIVAL = { draft: text(), from: text(), again: text() };
const SAID_MS = 2500;

export function Share() {
  const [said, setSaid] = useState("");
  const before = useStore(replaced);
  useEffect(() => {
    if (said === "") return;
    const timer = window.setTimeout(() => setSaid(""), SAID_MS);
    return () => window.clearTimeout(timer);
  }, [said]);
  const copy = async (): Promise<void> => {
    const link = linkTo(["launch"], writeView(ARRIVAL, { draft: await packed(draft.get()) }));
    const address = new URL(link, window.location.href).href;
    try {
      await navigator.clipboard.writeText(address);
      setSaid("Copied");
    } catch {
      // Where the clipboard is closed, the address bar has it.
      window.history.replaceState(null, "", link);
      setSaid("It is in the address bar");
    }
  };
  const back = (): void => {
    if (before !== null) draft.set(before);
    replaced.set(null);
  };
  return (
    <>
      {before !== null && (
        <Button kind="quiet" onClick={back}>
          Bring back what was here
        </Button>
      )}
      <Button onClick={() => void copy()}>
        <span aria-live="polite">{said || "Copy link"}</span>
      </Button>
    </>
  );
}

interface Arrival {
  /** Whether another experiment is about to take the place of this one, which nobody means to launch then. */
  coming: boolean;
  trouble: ReactNode;
}

/** Take in what the address carries, once; what went wrong with that. */
export function useArrival(): Arrival {
  const [arrival, setArrival] = useViewState(ARRIVAL);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const carried = carriedBy(arrival);
    if (carried === null) return;
    let left = false;
    carried.then(
      (found) => {
        if (left) return;
        replaceDraft(found);
        setError(null);
        setArrival({ draft: "", from: "", again: "" });
      },
      (reason: unknown) => left || setError(reason),
    );
    return () => {
      left = true;
    };
  }, [arrival, setArrival]);
  return {
    coming: error === null && Object.values(arrival).some((carried) => carried !== ""),
    trouble: error !== null && <ErrorNote error={problemOf(error)} />,
  };
}

function carriedBy({ draft, from, again }: { draft: string; from: string; again: string }): Promise<Draft> | null {
  if (draft !== "") {
    return unpacked(draft).then((found) => found ?? Promise.reject(new Error("The link carries no experiment.")));
  }
  if (from !== "") return fileOf(from).then((text) => ({ ...FIRST, text }));
  return again === "" ? null : againOf(again);
}
