/** What can be done with what is picked: one thing to all of them, how far that is, and how many refused. */
import { useRef, useState } from "react";
import { answered, api } from "../../api/client";
import { useMay } from "../../api/session";
import { type ExperimentRow, isLive, MOST_PICKED, type RunRow, type View } from "../../data/runList";
import { linkTo } from "../../navigation/hash";
import { useShortcut } from "../../navigation/shortcuts";
import { Button, LinkButton } from "../../parts/Button";
import { count } from "../../units";
import { ASKED_FROM, type Asked, Asks } from "./Asks";
import { type Refusal, saidOf, toEach } from "./acting";
import { Refused } from "./Refused";
import styles from "./Runs.module.css";

interface Props {
  what: View["what"];
  picked: readonly string[];
  rows: readonly (RunRow | ExperimentRow)[];
  /** How many the list has in all. */
  matching: number;
  /** Says what was done, where the list is. */
  onDone: (said: string) => void;
  change: (change: Partial<View>) => void;
  again: () => void;
}

type Deed = "pin" | "unpin" | Asked;

/** While it is done, and when it is done. */
const WORDS: Record<Deed, readonly [doing: string, done: string]> = {
  pin: ["Pinning", "pinned"],
  unpin: ["Unpinning", "unpinned"],
  rerun: ["Queueing", "queued to run once more"],
  delete: ["Deleting", "deleted"],
  cancel: ["Cancelling", "cancelled"],
};

const DEEDS: Record<Deed, (id: string, what: View["what"]) => Promise<boolean>> = {
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

interface Going {
  deed: Deed;
  behind: number;
  of: number;
}

export function Bulk({ what, picked, rows, matching, change, again, onDone }: Props) {
  const may = useMay("run");
  const [going, setGoing] = useState<Going | null>(null);
  const [asking, setAsking] = useState<Asked | null>(null);
  const [refused, setRefused] = useState<readonly Refusal[]>([]);
  const stop = useRef<AbortController | null>(null);
  const runs = what === "runs";
  const one = what.slice(0, -1);
  const chosen = new Set(picked);
  const known = rows.filter((row) => chosen.has(row.id));
  // Of what is picked and not loaded it is not known how it stands: it is offered both ways.
  const unknown = known.length < picked.length;
  const pinned = known.length > 0 && known.every((row) => "pinned" in row && row.pinned);
  const live = unknown || known.some(isLive);
  const act = async (deed: Deed): Promise<void> => {
    const all = picked;
    stop.current = new AbortController();
    setAsking(null);
    setGoing({ deed, behind: 0, of: all.length });
    onDone("");
    const outcome = await toEach(all, {
      act: (id) => DEEDS[deed](id, what),
      onStep: (behind) => setGoing({ deed, behind, of: all.length }),
      stop: stop.current.signal,
    });
    setGoing(null);
    setRefused(outcome.refused);
    onDone(saidOf(outcome, one, WORDS[deed][1]));
    if (deed === "delete") change({ picked: [...outcome.refused.map(([id]) => id), ...outcome.left] });
    again();
  };
  useShortcut("p", pinned ? "Unpin what is picked" : "Pin what is picked", () => void act(pinned ? "unpin" : "pin"), {
    group: "List",
    enabled: may && runs && going === null,
  });
  const noun = `${count(picked.length)} ${picked.length === 1 ? one : what}`;
  const button = (deed: Deed, text: string, press: () => void, kind: "plain" | "danger" = "plain") => (
    <Button kind={kind} busy={going?.deed === deed} disabled={going !== null} onClick={press}>
      {text}
    </Button>
  );
  const rerun = (): void => (picked.length < ASKED_FROM ? void act("rerun") : setAsking("rerun"));
  return (
    <div role="toolbar" aria-label="What to do with what is picked" className={styles.bulk}>
      <span role="status">
        {going === null ? noun : `${WORDS[going.deed][0]}: ${count(going.behind)} of ${count(going.of)} ${what}`}
        {going === null && picked.length === MOST_PICKED && matching > MOST_PICKED && (
          <small>, as many as are picked at a time; {count(matching)} match</small>
        )}
      </span>
      {runs && picked.length > 1 && (
        <LinkButton kind="primary" href={linkTo(["compare"], `runs=${picked.join(",")}`)}>
          Compare
        </LinkButton>
      )}
      {!runs && picked.length === 1 && (
        <LinkButton href={linkTo(["compare"], `show=map&experiment=${picked[0]}`)}>Map of its sweep</LinkButton>
      )}
      {may && runs && (unknown || !pinned) && button("pin", "Pin", () => void act("pin"))}
      {may && runs && (unknown || pinned) && button("unpin", "Unpin", () => void act("unpin"))}
      {may && runs && button("rerun", "Run again", rerun)}
      {may && !runs && live && button("cancel", "Cancel", () => setAsking("cancel"))}
      {may && button("delete", "Delete", () => setAsking("delete"), "danger")}
      {going === null ? (
        <Button kind="quiet" onClick={() => change({ picked: [] })}>
          Pick none
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
