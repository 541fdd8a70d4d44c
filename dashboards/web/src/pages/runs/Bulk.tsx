/** Actions on the selected rows, their progress, and how many the service refused. */
import { useEffect, useRef, useState } from "react";
import { answered, api } from "../../api/client";
import { problemOf } from "../../api/problem";
import { useMay } from "../../api/session";
import { type ExperimentRow, isLive, MOST_SELECTED, type RunRow, type runsQuery, type View } from "../../data/runList";
import { linkTo } from "../../navigation/hash";
import { useShortcut } from "../../navigation/shortcuts";
import { Button, LinkButton } from "../../parts/Button";
import { doLater, later } from "../../parts/later";
import { useStore } from "../../store";
import { count } from "../../units";
import { ASKED_FROM, type Asked, Asks } from "./Asks";
import { type Outcome, type Refusal, summaryOf, toAll, toEach } from "./acting";
import { countOf, type Picks } from "./picks";
import styles from "./Runs.module.css";

interface Props {
  what: View["what"];
  picks: Picks;
  /** The filter, for an action on all. */
  filter: ReturnType<typeof runsQuery>;
  rows: readonly (RunRow | ExperimentRow)[];
  /** The number of rows that match the filter. */
  matching: number;
  /** Shows a message above the list. */
  onDone: (message: string) => void;
  /** Shows who was refused. */
  onRefused: (refused: readonly Refusal[]) => void;
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

export function Bulk({ what, picks, filter, rows, matching, change, again, onDone, onRefused }: Props) {
  const may = useMay("run");
  const [progress, setProgress] = useState<Progress | null>(null);
  const [asking, setAsking] = useState<Asked | null>(null);
  const stop = useRef<AbortController | null>(null);
  const shown = useRef(true);
  useEffect(() => {
    shown.current = true;
    return () => {
      shown.current = false;
    };
  }, []);
  const runs = what === "runs";
  const one = what.slice(0, -1);
  const ids = [...picks.ids];
  const many = countOf(picks, matching);
  const known = rows.filter((row) => picks.all !== picks.ids.has(row.id));
  // The status of selected rows that are not loaded is unknown, so both actions are offered.
  const unknown = known.length < many;
  const pinned = known.length > 0 && known.every((row) => "pinned" in row && row.pinned);
  const live = unknown || known.some(isLive);
  // Rows that the filter leaves out, which only a complete list can tell.
  const absent = picks.all || rows.length < matching ? [] : ids.filter((id) => !rows.some((row) => row.id === id));
  const apply = (action: Action, onStep: (behind: number) => void, signal?: AbortSignal): Promise<Outcome> => {
    const common = { onStep, ...(signal && { stop: signal }) };
    if (!picks.all || action === "cancel") return toEach(ids, { ...common, act: (id) => ACTIONS[action](id, what) });
    const { limit: _, sort: __, ...query } = filter;
    return toAll({
      ...common,
      all: many,
      ask: (cursor) =>
        answered(
          api.POST("/api/v1/run-actions", {
            params: { query },
            body: { action, until: picks.until || null, without: ids, cursor },
          }),
        ),
    });
  };
  /** After an action, if its list is still shown. */
  const settle = (action: Action, outcome: Outcome): void => {
    if (!shown.current) return;
    setProgress(null);
    onRefused(outcome.refused);
    const left = [...outcome.refused.map(([id]) => id), ...outcome.left];
    if (action === "delete") change({ picked: left.length > MOST_SELECTED ? [] : left });
    again();
  };
  const act = async (action: Action): Promise<void> => {
    stop.current = new AbortController();
    setAsking(null);
    setProgress({ action, behind: 0, of: many });
    onDone("");
    try {
      const onStep = (behind: number): void => setProgress({ action, behind, of: many });
      const outcome = await apply(action, onStep, stop.current.signal);
      onDone(summaryOf(outcome, one, WORDS[action][1]));
      settle(action, outcome);
    } catch (error) {
      setProgress(null);
      onDone(problemOf(error).message);
    }
  };
  /** Deleting waits, so that it can be undone, and continues while other pages are shown. */
  const deleteLater = (): void => {
    setAsking(null);
    setProgress({ action: "delete", behind: 0, of: many });
    stop.current = new AbortController();
    const { signal } = stop.current;
    doLater(
      `${noun} will be deleted. Closing the page before keeps ${many === 1 ? "it" : "them"}.`,
      async (tell) => {
        try {
          const outcome = await apply(
            "delete",
            (behind) => {
              if (shown.current) setProgress({ action: "delete", behind, of: many });
              tell(`Deleting: ${count(behind)} of ${noun}`);
            },
            signal,
          );
          settle("delete", outcome);
          return summaryOf(outcome, one, WORDS.delete[1]);
        } catch (error) {
          if (shown.current) setProgress(null);
          throw error;
        }
      },
      () => shown.current && setProgress(null),
    );
  };
  useShortcut(
    "p",
    pinned ? "Unpin the selected runs" : "Pin the selected runs",
    () => void act(pinned ? "unpin" : "pin"),
    { group: "List", enabled: may && runs && progress === null },
  );
  const noun = `${count(many)} ${many === 1 ? one : what}`;
  const waits = useStore(later)?.state === "waiting";
  const button = (action: Action, text: string, press: () => void, kind: "plain" | "danger" = "plain") => (
    <Button kind={kind} busy={progress?.action === action} disabled={progress !== null} onClick={press}>
      {text}
    </Button>
  );
  const rerun = (): void => (many < ASKED_FROM ? void act("rerun") : setAsking("rerun"));
  return (
    <div role="toolbar" aria-label="Actions on the selection" className={styles.bulk}>
      <span role="status">
        {progress === null
          ? noun
          : `${WORDS[progress.action][0]}: ${count(progress.behind)} of ${count(progress.of)} ${what}`}
        {progress === null && picks.all && ids.length > 0 && <small>, all that match but {count(ids.length)}</small>}
        {progress === null && absent.length > 0 && <small>, {count(absent.length)} not shown</small>}
        {progress === null && !picks.all && many === MOST_SELECTED && matching > MOST_SELECTED && (
          <small>, the most that can be selected at a time; {count(matching)} match</small>
        )}
      </span>
      {progress === null && absent.length > 0 && (
        <Button kind="quiet" onClick={() => change({ picked: ids.filter((id) => !absent.includes(id)) })}>
          Leave {absent.length === 1 ? "it" : "them"} out
        </Button>
      )}
      {runs && !picks.all && many > 1 && (
        <LinkButton kind="primary" href={linkTo(["compare"], `runs=${ids.join(",")}`)}>
          Compare
        </LinkButton>
      )}
      {!runs && many === 1 && (
        <LinkButton href={linkTo(["compare"], `show=map&experiment=${ids[0]}`)}>Heat map</LinkButton>
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
        <Button kind="quiet" disabled={waits} onClick={() => stop.current?.abort()}>
          Stop
        </Button>
      )}
      {asking !== null && (
        <Asks
          asked={asking}
          what={what}
          noun={noun}
          onClose={() => setAsking(null)}
          onYes={() => (asking === "delete" ? deleteLater() : void act(asking))}
        />
      )}
    </div>
  );
}

function at(id: string) {
  return { params: { path: { id } } };
}

const always = (): true => true;
