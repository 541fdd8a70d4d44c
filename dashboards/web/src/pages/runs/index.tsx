/** The list of runs and experiments; the address contains its filters, order and selection. */
import { useCallback, useEffect, useMemo, useState } from "react";
import {
  type ExperimentRow,
  isFiltered,
  MOST_SELECTED,
  NOTHING,
  type RunRow,
  runsQuery,
  VIEW,
  type View,
} from "../../data/runList";
import { useLatest } from "../../hooks";
import { linkTo } from "../../navigation/hash";
import { useRoute } from "../../navigation/route";
import { useShortcut } from "../../navigation/shortcuts";
import { useViewState } from "../../navigation/viewState";
import { Button, LinkButton } from "../../parts/Button";
import { Empty } from "../../parts/Empty";
import { ErrorNote } from "../../parts/ErrorNote";
import { Waiting } from "../../parts/Waiting";
import { count } from "../../units";
import { Arrange } from "./Arrange";
import type { Refusal } from "./acting";
import { Bulk } from "./Bulk";
import { ExperimentRows } from "./ExperimentRows";
import { Filters } from "./Filters";
import { GroupRows } from "./GroupRows";
import { type Listed, useExperiments, useRuns } from "./lists";
import { AllBox, type RowsProps } from "./PickTable";
import { usePickAll } from "./pickAll";
import { allUntil, countOf, isPicked, readPicks, toggled } from "./picks";
import { prefer, preferences } from "./preferences";
import { Refused } from "./Refused";
import { RunRows } from "./RunRows";
import styles from "./Runs.module.css";
import { type Range, useNarrow, useThrottled } from "./window";

type Change = (change: Partial<View>, options?: { push?: boolean }) => void;

export default function Runs() {
  const [view, setView] = useViewState(VIEW);
  const { query } = useRoute();
  // A bare address begins as this browser chose last; an address with anything in it shows the same to everyone.
  useEffect(() => {
    if (query === "") setView(preferences());
  }, [query, setView]);
  const change = useCallback<Change>(
    (wanted, options) => {
      const { sort, columns } = wanted;
      if (sort !== undefined || columns !== undefined) {
        prefer({ ...(sort !== undefined && { sort }), ...(columns !== undefined && { columns }) });
      }
      setView(wanted, options);
    },
    [setView],
  );
  return (
    <>
      <h1 className="unseen">Runs</h1>
      <Filters view={view} change={change} />
      {view.what === "runs" ? <AllRuns view={view} change={change} /> : <AllExperiments view={view} change={change} />}
    </>
  );
}

/** The rows in sight, as often as their pages are requested. */
function useRange(): [Range, (range: Range) => void] {
  const [range, setRange] = useState<Range>({ from: 0, to: 1 });
  return [useThrottled(range, 100), setRange];
}

function AllRuns({ view, change }: { view: View; change: Change }) {
  const [range, setRange] = useRange();
  const listed = useRuns(view, range);
  return (
    <List view={view} change={change} listed={listed} onRange={setRange}>
      {(shared) =>
        view.group ? (
          <GroupRows {...shared} view={view} change={change} changed={listed.asked.dataUpdatedAt} />
        ) : (
          <RunRows {...shared} rowAt={listed.rowAt} chosen={view.columns} />
        )
      }
    </List>
  );
}

function AllExperiments({ view, change }: { view: View; change: Change }) {
  const [range, setRange] = useRange();
  const listed = useExperiments(view, range);
  return (
    <List view={view} change={change} listed={listed} onRange={setRange}>
      {(shared) => <ExperimentRows {...shared} rowAt={listed.rowAt} />}
    </List>
  );
}

interface Props<R> {
  view: View;
  change: Change;
  listed: Listed<R>;
  onRange: (range: Range) => void;
  children: (shared: Omit<RowsProps<R>, "rowAt">) => React.ReactNode;
}

function List<R extends RunRow | ExperimentRow>({ view, change, listed, onRange, children }: Props<R>) {
  const { rows, total, asked, failure, fresh, showFresh, again, question, readIds, readUntil } = listed;
  const [done, setDone] = useState("");
  const narrow = useNarrow();
  const [refused, setRefused] = useState<readonly Refusal[]>([]);
  const picks = useMemo(() => readPicks(view.picked), [view.picked]);
  const filter = useMemo(() => runsQuery(view), [view]);
  const latest = useLatest(view.picked);
  const pick = useCallback((id: string) => change({ picked: toggled(latest.current, id) }), [change, latest]);
  const many = countOf(picks, total);
  const isAllPicked =
    many > 0 &&
    (picks.all
      ? picks.ids.size === 0
      : many >= Math.min(total, MOST_SELECTED) &&
        rows.every((row, at) => picks.ids.has(row.id) || at >= MOST_SELECTED));
  const all = usePickAll(
    // More than an address has room for are selected by the filter itself.
    async () => (view.what === "runs" && total > MOST_SELECTED ? allUntil(await readUntil()) : readIds(MOST_SELECTED)),
    question,
    (found) => change({ picked: found }),
  );
  const pickAll = (): void => (isAllPicked ? change({ picked: [] }) : all.start());
  const linkOf = useCallback((id: string): string => linkTo([view.what, id]), [view.what]);
  useShortcut("Escape", "Clear selection", () => change({ picked: [] }), { group: "List", enabled: many > 0 });
  const fields = useMemo(
    () => [...new Set(rows.flatMap((row) => ("point" in row ? Object.keys(row.point) : [])))].sort(),
    [rows],
  );
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
  const refusals = refused.length > 0 && <Refused what={view.what} refused={refused} onClose={() => setRefused([])} />;
  if (total === 0) {
    return (
      <>
        {message}
        {refusals}
        <Nothing view={view} change={change} fresh={fresh} onFresh={showFresh} />
      </>
    );
  }
  const boxes = { isAllPicked, isSomePicked: many > 0, onPickAll: pickAll };
  return (
    <>
      {message}
      <div className={styles.above}>
        {narrow && <AllBox {...boxes} />}
        <p role="status">
          {count(total)} {total === 1 ? view.what.slice(0, -1) : view.what}
          {isFiltered(view) && (total === 1 ? " matches" : " match")}
          {all.busy && ": selecting them …"}
        </p>
        {fresh > 0 && (
          <Button kind="quiet" onClick={showFresh}>
            {count(fresh)} new: show
          </Button>
        )}
        <Arrange view={view} fields={fields} change={change} />
      </div>
      {all.error !== null && <ErrorNote error={all.error} action={<Button onClick={all.start}>Try again</Button>} />}
      {failure !== null && <ErrorNote error={failure} action={<Button onClick={again}>Try again</Button>} />}
      <div className={styles.list} data-old={asked.isPlaceholderData} aria-busy={all.busy}>
        {children({
          ...boxes,
          total,
          onRange,
          linkOf,
          isPicked: (id) => isPicked(picks, id),
          onPick: pick,
          sort: view.sort,
          onSort: (sort) => change({ sort }),
        })}
      </div>
      {refusals}
      {many > 0 && (
        <Bulk
          what={view.what}
          picks={picks}
          filter={filter}
          rows={rows}
          matching={total}
          change={change}
          again={again}
          onDone={setDone}
          onRefused={setRefused}
        />
      )}
    </>
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
