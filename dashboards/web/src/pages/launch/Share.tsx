/** Links to Launch: one that contains the draft, and the loading of a draft, a shipped experiment or a launched one from a link. */
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
const CONFIRMED_MS = 2500;

export function Share() {
  const [message, setMessage] = useState("");
  const before = useStore(replaced);
  useEffect(() => {
    if (message === "") return;
    const timer = window.setTimeout(() => setMessage(""), CONFIRMED_MS);
    return () => window.clearTimeout(timer);
  }, [message]);
  const copy = async (): Promise<void> => {
    const link = linkTo(["launch"], writeView(ARRIVAL, { draft: await packed(draft.get()) }));
    const address = new URL(link, window.location.href).href;
    try {
      await navigator.clipboard.writeText(address);
      setMessage("Copied");
    } catch {
      // Without access to the clipboard, put the link into the address bar.
      window.history.replaceState(window.history.state, "", link);
      setMessage("The link is in the address bar");
    }
  };
  const restore = (): void => {
    if (before !== null) draft.set(before);
    replaced.set(null);
  };
  return (
    <>
      {before !== null && (
        <Button kind="quiet" onClick={restore}>
          Restore previous draft
        </Button>
      )}
      <Button onClick={() => void copy()}>
        <span aria-live="polite">{message || "Copy link"}</span>
      </Button>
    </>
  );
}

interface Arrival {
  /** Whether another experiment is being loaded, so that the current one must not be launched. */
  coming: boolean;
  trouble: ReactNode;
}

/** Loads the experiment that the address names, once, and shows an error of that. */
export function useArrival(): Arrival {
  const [arrival, setArrival] = useViewState(ARRIVAL);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const requested = requestedBy(arrival);
    if (requested === null) return;
    let left = false;
    requested.then(
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
    coming: error === null && Object.values(arrival).some((requested) => requested !== ""),
    trouble: error !== null && <ErrorNote error={problemOf(error)} />,
  };
}

function requestedBy({ draft, from, again }: { draft: string; from: string; again: string }): Promise<Draft> | null {
  if (draft !== "") {
    return unpacked(draft).then(
      (found) => found ?? Promise.reject(new Error("The link contains no valid experiment.")),
    );
  }
  if (from !== "") return fileOf(from).then((text) => ({ ...FIRST, text }));
  return again === "" ? null : againOf(again);
}
