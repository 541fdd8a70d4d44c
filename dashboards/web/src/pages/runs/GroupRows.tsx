/** The list of runs by experiment: a row for each, with the means of its runs, which opens to its first runs. */
import { useCallback, useMemo } from "react";
import { listOf, type RunRow, type View } from "../../data/runList";
import { go } from "../../navigation/route";
import { Ago } from "../../parts/Ago";
import { Button } from "../../parts/Button";
import { ErrorNote } from "../../parts/ErrorNote";
import { Waiting } from "../../parts/Waiting";
import { count, duration, percent, plain, rate } from "../../units";
import { columnsOf } from "./columns";
import { type Group, groupOrder, type Line, useGroups } from "./groups";
import { type ListColumn, PickTable, type RowsProps } from "./PickTable";
import styles from "./Rows.module.css";
import { queryOf } from "./views";

interface Props extends Omit<RowsProps<RunRow>, "rowAt" | "total" | "onRange"> {
  view: View;
  change: (change: Partial<View>) => void;
  /** The time of the last change of the runs. */
  changed: number;
}

export function GroupRows({ view, change, changed, ...shared }: Props) {
  const { found, lines, total, failure } = useGroups(view, changed);
  const { opened } = view;
  const toggle = useCallback(
    (experiment: string) =>
      change({
        opened: opened.includes(experiment) ? opened.filter((one) => one !== experiment) : [...opened, experiment],
      }),
    [change, opened],
  );
  // Another object only with another filter, order or columns: the rows are drawn again with other columns.
  const query = queryOf(view);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the query is the view without the selection
  const columns = useMemo(
    () => columnsOf(view.columns).map((column) => withGroups(column, view, toggle)),
    [query, toggle],
  );
  const open = (line: Line): boolean => {
    if (line.kind === "group") toggle(line.group.experiment);
    if (line.kind === "rest") go(restLink(line.group, view));
    return line.kind !== "run";
  };
  const again = <Button onClick={() => found.refetch()}>Try again</Button>;
  if (found.isPending) return <Waiting height="50vh" />;
  return (
    <>
      {failure !== null && <ErrorNote error={failure} action={again} />}
      <PickTable<Line>
        {...shared}
        name="Runs by experiment"
        noun="run"
        columns={columns}
        total={lines.length}
        rowAt={(index) => lines[index]}
        onRange={none}
        canPick={isRun}
        onOpen={open}
        sort={groupOrder(shared.sort)}
      />
      {found.hasNextPage && (
        <Button busy={found.isFetchingNextPage} onClick={() => found.fetchNextPage()}>
          {`Show more of ${count(total)} experiments`}
        </Button>
      )}
    </>
  );
}

function none(): void {}

function isRun(line: Line): boolean {
  return line.kind === "run";
}

const WRITE: Record<string, (value: number) => string> = {
  goodput: rate,
  rtt: (ms) => duration(ms / 1000),
  loss: percent,
  utilisation: percent,
  jain: plain,
};

/** The column of runs, also for the rows of groups. */
function withGroups(column: ListColumn<RunRow>, view: View, toggle: (experiment: string) => void): ListColumn<Line> {
  const { key, cell, isEmpty, sorts, ...rest } = column;
  const sorted = sorts !== undefined && groupOrder(sorts[1]) === sorts[1];
  return {
    ...rest,
    key,
    ...(sorted && { sorts }),
    cell: (line) => {
      if (line.kind === "run") return cell(line.row);
      if (line.kind === "rest") return key === "run" && restOf(line.group, view);
      if (key === "run") return headOf(line, toggle);
      if (key === "created") return <Ago at={line.group.created_at} />;
      return meanOf(line.group, key);
    },
    isEmpty: (line) => {
      if (line.kind === "run") return isEmpty?.(line.row) ?? false;
      return !["run", "created"].includes(key) && (line.kind === "rest" || line.group.results[key] === undefined);
    },
  };
}

function headOf({ group, isOpen }: { group: Group; isOpen: boolean }, toggle: (experiment: string) => void) {
  const { experiment, runs, statuses } = group;
  const all = Object.entries(statuses);
  return (
    <>
      <button type="button" className={styles.opener} aria-expanded={isOpen} onClick={() => toggle(experiment)}>
        <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span> {experiment}
      </button>
      <span className={styles.point}>
        {count(runs)} {runs === 1 ? "run" : "runs"}
        {all.length > 1 || statuses.done === undefined
          ? `: ${all.map(([status, number]) => `${count(number)} ${status}`).join(", ")}`
          : ""}
      </span>
    </>
  );
}

function restOf(group: Group, view: View) {
  return (
    <a className={styles.rest} href={restLink(group, view)}>
      All {count(group.runs)} runs of {group.experiment}
    </a>
  );
}

/** The list of all matching runs of an experiment. */
function restLink({ experiment }: Group, view: View): string {
  return listOf({ ...view, group: false, opened: [], picked: [], name: experiment });
}

function meanOf({ results }: Group, key: string) {
  const [found, write] = [results[key], WRITE[key]];
  if (found === undefined || write === undefined) return null;
  const { mean, least, most } = found;
  return <span title={`Mean of the runs, which range from ${write(least)} to ${write(most)}`}>{write(mean)}</span>;
}
