/** The list of runs and experiments; the address contains its filters, order and selection. */
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import {
  type ExperimentRow,
  isFiltered,
  MOST_SELECTED,
  NOTHING,
  type RunRow,
  VIEW,
  type View,
} from "../../data/runList";
import { linkTo } from "../../navigation/hash";
import { useShortcut } from "../../navigation/shortcuts";
import { useViewState } from "../../navigation/viewState";
import { Button, LinkButton } from "../../parts/Button";
import { Empty } from "../../parts/Empty";
import { ErrorNote } from "../../parts/ErrorNote";
import { Waiting } from "../../parts/Waiting";
import { count } from "../../units";
import { Bulk } from "./Bulk";
import { useCursor } from "./cursor";
import { ExperimentRows } from "./ExperimentRows";
import { Filters } from "./Filters";
import { type Listed, useExperiments, useRuns } from "./lists";
import type { RowsProps } from "./PickTable";
import { usePickAll } from "./pickAll";
import { RunRows } from "./RunRows";
import styles from "./Runs.module.css";

type Change = (change: Partial<View>, options?: { push?: boolean }) => void;

export default function Runs() {
  const [view, setView] = useViewState(VIEW);
  return (
    <>
      <h1 className="unseen">Runs</h1>
      <Filters view={view} change={setView} />
      {view.what === "runs" ? (
        <AllRuns view={view} change={setView} />
      ) : (
        <AllExperiments view={view} change={setView} />
      )}
    </>
  );
}

function AllRuns({ view, change }: { view: View; change: Change }) {
  const listed = useRuns(view);
  return (
    <List view={view} change={change} listed={listed}>
      {(shared) => <RunRows {...shared} rows={listed.rows} />}
    </List>
  );
}

function AllExperiments({ view, change }: { view: View; change: Change }) {
  const listed = useExperiments(view);
  return (
    <List view={view} change={change} listed={listed}>
      {(shared) => <ExperimentRows {...shared} rows={listed.rows} />}
    </List>
  );
}

interface Props<R> {
  view: View;
  change: Change;
  listed: Listed<R>;
  children: (shared: Omit<RowsProps<R>, "rows">) => React.ReactNode;
}

function List<R extends RunRow | ExperimentRow>({ view, change, listed, children }: Props<R>) {
  const { rows, total, asked, fresh, showFresh, again, question, readIds } = listed;
  const [done, setDone] = useState("");
  const picked = useMemo(() => new Set(view.picked), [view.picked]);
  const latest = useRef(view.picked);
  useEffect(() => {
    latest.current = view.picked;
  });
  const pick = useCallback(
    (id: string) => {
      const now = latest.current;
      change({ picked: now.includes(id) ? now.filter((one) => one !== id) : [...now, id].slice(-MOST_SELECTED) });
    },
    [change],
  );
  const ids = useMemo(() => rows.map((row) => row.id), [rows]);
  const matching = Math.max(total ?? 0, rows.length);
  const isAllPicked =
    picked.size >= Math.min(matching, MOST_SELECTED) && ids.slice(0, MOST_SELECTED).every((id) => picked.has(id));
  const all = usePickAll(
    () => readIds(MOST_SELECTED),
    question,
    (found) => change({ picked: found }),
  );
  const pickAll = (): void => (isAllPicked ? change({ picked: [] }) : all.start());
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = asked;
  const onward = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const linkOf = (id: string): string => linkTo([view.what, id]);
  const cursor = useCursor({ ids, linkOf, onPick: pick, onPickAll: pickAll, onNoneLeft: onward });
  useShortcut("Escape", "Clear selection", () => change({ picked: [] }), { group: "List", enabled: picked.size > 0 });
  if (asked.isError) return <ErrorNote error={asked.error} action={<Button onClick={again}>Try again</Button>} />;
  if (asked.isPending) return <Waiting height="50vh" />;
  const message = done !== "" && (
    <p role="status" className={styles.done}>
      {done}
      <Button kind="quiet" onClick={() => setDone("")}>
        Close
      </Button>
    </p>
  );
  if (rows.length === 0) {
    return (
      <>
        {message}
        <Nothing view={view} change={change} fresh={fresh} onFresh={showFresh} />
      </>
    );
  }
  return (
    <>
      {message}
      <div className={styles.above}>
        <p role="status">
          {count(matching)} {view.what}
          {isFiltered(view) && " that match"}, {view.sort} first
          {all.busy && ": selecting them …"}
        </p>
        {fresh > 0 && (
          <Button kind="quiet" onClick={showFresh}>
            {count(fresh)} new: show
          </Button>
        )}
        <Button kind="quiet" onClick={() => change({ sort: view.sort === "newest" ? "oldest" : "newest" })}>
          {view.sort === "newest" ? "Oldest first" : "Newest first"}
        </Button>
      </div>
      {all.error !== null && <ErrorNote error={all.error} action={<Button onClick={all.start}>Try again</Button>} />}
      <div className={styles.list} data-old={asked.isPlaceholderData} aria-busy={all.busy}>
        {children({ picked, isAllPicked, cursor, onPick: pick, onPickAll: pickAll })}
      </div>
      <More waits={hasNextPage} onward={onward} />
      {picked.size > 0 && (
        <Bulk
          what={view.what}
          picked={view.picked}
          rows={rows}
          matching={matching}
          change={change}
          again={again}
          onDone={setDone}
        />
      )}
    </>
  );
}

/** The end of the list: requests the next page when scrolling comes near. */
function More({ waits, onward }: { waits: boolean; onward: () => void }) {
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = end.current;
    if (element === null || !waits) return;
    const watch = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && onward(), {
      rootMargin: "800px",
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, [waits, onward]);
  return (
    <div ref={end} className={styles.end}>
      {waits ? "Loading more …" : ""}
    </div>
  );
}

interface NothingProps {
  view: View;
  change: Change;
  fresh: number;
  onFresh: () => void;
}

function Nothing({ view, change, fresh, onFresh }: NothingProps) {
  const come = fresh > 0 && <Button onClick={onFresh}>{count(fresh)} new: show</Button>;
  if (isFiltered(view)) {
    return (
      <Empty
        title={`No ${view.what} match`}
        action={come || <Button onClick={() => change(NOTHING)}>Clear the filters</Button>}
      >
        <p>
          Every word of a search must occur in the name, id, owner or a swept value. <code>cc=bbr</code>,{" "}
          <code>300ms</code> and <code>rtt=300ms</code> are words too.
        </p>
      </Empty>
    );
  }
  const first = (
    <LinkButton kind="primary" href={linkTo(["launch"])}>
      Launch an experiment
    </LinkButton>
  );
  return (
    <Empty title="No runs yet" action={come || first}>
      <p>
        This list shows every run of this lab with its owner, path and result. Launch one of the shipped experiments, or
        reproduce a figure of a <a href={linkTo(["papers"])}>paper</a>; either takes seconds.
      </p>
    </Empty>
  );
}
