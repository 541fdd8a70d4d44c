/** Actions on the selected rows, their progress, and how many the service refused. */
import { useRef, useState } from "react";
import { answered, api } from "../../api/client";
import { useMay } from "../../api/session";
import { type ExperimentRow, isLive, MOST_SELECTED, type RunRow, type View } from "../../data/runList";
import { linkTo } from "../../navigation/hash";
import { useShortcut } from "../../navigation/shortcuts";
import { Button, LinkButton } from "../../parts/Button";
import { count } from "../../units";
import { ASKED_FROM, type Asked, Asks } from "./Asks";
import { type Refusal, summaryOf, toEach } from "./acting";
import { Refused } from "./Refused";
import styles from "./Runs.module.css";

interface Props {
  what: View["what"];
  picked: readonly string[];
  rows: readonly (RunRow | ExperimentRow)[];
  /** The number of rows that match the filter. */
  matching: number;
  /** Shows a message above the list. */
  onDone: (message: string) => void;
  change: (change: Partial<View>) => void;
  again: () => void;
}

type Action = "pin" | "unpin" | Asked;

/** The texts during an action, and after it. */
const WORDS: Record<Action, readonly [doing: string, done: string]> = {
  pin: ["Pinning", "pinned"],
  unpin: ["Unpinning", "unpinned"],
  rerun: ["Queueing", "queued for a rerun"],
  delete: ["Deleting", "deleted"],
  cancel: ["Cancelling", "cancelled"],
};

const ACTIONS: Record<Action, (id: string, what: View["what"]) => Promise<boolean>> = {
  pin: (id) => answered(api.PUT("/api/v1/runs/{id}/pin", at(id))).then(always),
  unpin: (id) => answered(api.DELETE("/api/v1/runs/{id}/pin", at(id))).then(always),
  rerun: (id) => answered(api.POST("/api/v1/runs/{id}/rerun", at(id))).then(always),
  cancel: (id) =>
    answered(api.POST("/api/v1/experiments/{id}/cancel", at(id))).then(({ status }) => status === "cancelled"),
  delete: (id, what) =>
    (what === "runs"
      ? answered(api.DELETE("/api/v1/runs/{id}", at(id)))
      : answered(api.DELETE("/api/v1/experiments/{id}", at(id)))
    ).then(always),
};

interface Progress {
  action: Action;
  behind: number;
  of: number;
}

export function Bulk({ what, picked, rows, matching, change, again, onDone }: Props) {
  const may = useMay("run");
  const [progress, setProgress] = useState<Progress | null>(null);
  const [asking, setAsking] = useState<Asked | null>(null);
  const [refused, setRefused] = useState<readonly Refusal[]>([]);
  const stop = useRef<AbortController | null>(null);
  const runs = what === "runs";
  const one = what.slice(0, -1);
  const chosen = new Set(picked);
  const known = rows.filter((row) => chosen.has(row.id));
  // The status of selected rows that are not loaded is unknown, so both actions are offered.
  const unknown = known.length < picked.length;
  const pinned = known.length > 0 && known.every((row) => "pinned" in row && row.pinned);
  const live = unknown || known.some(isLive);
  const act = async (action: Action): Promise<void> => {
    const all = picked;
    stop.current = new AbortController();
    setAsking(null);
    setProgress({ action, behind: 0, of: all.length });
    onDone("");
    const outcome = await toEach(all, {
      act: (id) => ACTIONS[action](id, what),
      onStep: (behind) => setProgress({ action, behind, of: all.length }),
      stop: stop.current.signal,
    });
    setProgress(null);
    setRefused(outcome.refused);
    onDone(summaryOf(outcome, one, WORDS[action][1]));
    if (action === "delete") change({ picked: [...outcome.refused.map(([id]) => id), ...outcome.left] });
    again();
  };
  useShortcut(
    "p",
    pinned ? "Unpin the selected runs" : "Pin the selected runs",
    () => void act(pinned ? "unpin" : "pin"),
    {
      group: "List",
      enabled: may && runs && progress === null,
    },
  );
  const noun = `${count(picked.length)} ${picked.length === 1 ? one : what}`;
  const button = (action: Action, text: string, press: () => void, kind: "plain" | "danger" = "plain") => (
    <Button kind={kind} busy={progress?.action === action} disabled={progress !== null} onClick={press}>
      {text}
    </Button>
  );
  const rerun = (): void => (picked.length < ASKED_FROM ? void act("rerun") : setAsking("rerun"));
  return (
    <div role="toolbar" aria-label="Actions on the selection" className={styles.bulk}>
      <span role="status">
        {progress === null
          ? noun
          : `${WORDS[progress.action][0]}: ${count(progress.behind)} of ${count(progress.of)} ${what}`}
        {progress === null && picked.length === MOST_SELECTED && matching > MOST_SELECTED && (
          <small>, the most that can be selected at a time; {count(matching)} match</small>
        )}
      </span>
      {runs && picked.length > 1 && (
        <LinkButton kind="primary" href={linkTo(["compare"], `runs=${picked.join(",")}`)}>
          Compare
        </LinkButton>
      )}
      {!runs && picked.length === 1 && (
        <LinkButton href={linkTo(["compare"], `show=map&experiment=${picked[0]}`)}>Heat map</LinkButton>
      )}
      {may && runs && (unknown || !pinned) && button("pin", "Pin", () => void act("pin"))}
      {may && runs && (unknown || pinned) && button("unpin", "Unpin", () => void act("unpin"))}
      {may && runs && button("rerun", "Rerun", rerun)}
      {may && !runs && live && button("cancel", "Cancel", () => setAsking("cancel"))}
      {may && button("delete", "Delete", () => setAsking("delete"), "danger")}
      {progress === null ? (
        <Button kind="quiet" onClick={() => change({ picked: [] })}>
          Clear selection
        </Button>
      ) : (
        <Button kind="quiet" onClick={() => stop.current?.abort()}>
          Stop
        </Button>
      )}
      {asking !== null && (
        <Asks asked={asking} what={what} noun={noun} onClose={() => setAsking(null)} onYes={() => void act(asking)} />
      )}
      {refused.length > 0 && <Refused what={what} refused={refused} onClose={() => setRefused([])} />}
    </div>
  );
}

function at(id: string) {
  return { params: { path: { id } } };
}

const always = (): true => true;
