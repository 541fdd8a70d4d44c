/** The run queue: running and next runs, their owners, and the workers. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { answered, api, type Schemas } from "../../api/client";
import { listOf } from "../../data/runList";
import { Badge } from "../../parts/Badge";
import { Empty } from "../../parts/Empty";
import { ErrorNote } from "../../parts/ErrorNote";
import { Facts } from "../../parts/Facts";
import { Panel } from "../../parts/Panel";
import { ProgressBar } from "../../parts/ProgressBar";
import { type Column, Table } from "../../parts/Table";
import { Waiting } from "../../parts/Waiting";
import { count, wait } from "../../units";

import styles from "./Lab.module.css";
import { NextRuns } from "./NextRuns";
import { NAME, NEEDS, OWNER, type Task } from "./taskColumns";

const POLL_MS = 2000;

export function Queue() {
  const asked = useQuery({
    queryKey: ["queue"],
    queryFn: () => answered(api.GET("/api/v1/queue", { params: { query: { limit: 20 } } })),
    refetchInterval: POLL_MS,
    placeholderData: keepPreviousData,
  });
  if (asked.isError && asked.data === undefined) return <ErrorNote error={asked.error} />;
  if (asked.isPending) return <Waiting height="60vh" />;
  const queue = asked.data;
  const connected = queue.workers.filter((worker) => worker.there);
  const running = queue.owners.reduce((sum, owner) => sum + owner.running, 0);
  return (
    <div className="stack">
      <Facts
        look={styles.numbers}
        facts={[
          ["queued", count(queue.waiting)],
          ["running", count(running)],
          ["slots", count(connected.reduce((sum, worker) => sum + worker.slots, 0))],
          ["longest wait", queue.waiting > 0 ? wait(queue.oldest_s) : "–"],
        ]}
      />
      <Panel title="Running">
        {queue.running.length > 0 ? (
          <Table label="Running" columns={RUNNING} rows={queue.running} rowKey={(task) => task.run} />
        ) : (
          <p className="lead">No run is running.</p>
        )}
      </Panel>
      {queue.owners.length > 0 && (
        <Panel title="Owners">
          <Table label="Owners" columns={OWNERS} rows={queue.owners} rowKey={(owner) => owner.owner} />
        </Panel>
      )}
      <Panel title="Workers">
        {queue.workers.length > 0 ? (
          <Table label="Workers" columns={WORKERS} rows={queue.workers} rowKey={(worker) => worker.name} />
        ) : (
          <Empty title="No workers">
            <p>
              <code>longhaul serve</code> starts a dispatcher with the API; with <code>LONGHAUL_DASK</code> set,
              machines join with <code>longhaul worker</code>. Queued runs wait until a worker is connected.
            </p>
          </Empty>
        )}
      </Panel>
      <Panel title="Next">
        {queue.next.length > 0 ? (
          <>
            <NextRuns queue={queue} />
            {queue.waiting > queue.next.length && (
              <p className="lead">
                and {count(queue.waiting - queue.next.length)} more:{" "}
                <a href={listOf({ status: "queued" })}>all queued runs</a>
              </p>
            )}
          </>
        ) : (
          <p className="lead">
            No run is queued. Runs start by priority, then owners with the fewest running runs first, then the
            experiment with the fewest queued runs.
          </p>
        )}
      </Panel>
    </div>
  );
}

const RUNNING: readonly Column<Task>[] = [
  NAME,
  OWNER,
  {
    key: "progress",
    name: "Virtual time",
    cell: (task) => (
      <span className={styles.progress}>
        <ProgressBar value={task.progress_s} max={task.virtual_s} label={`Progress of ${task.run}`} />
        {wait(task.progress_s)} of {wait(task.virtual_s)}
        {task.cancel && <Badge tone="warn">being cancelled</Badge>}
      </span>
    ),
  },
  {
    key: "since",
    name: "Running for",
    number: true,
    cell: (task) => (task.started_at ? wait(Math.max(0, (Date.now() - Date.parse(task.started_at)) / 1000)) : "–"),
  },
  { key: "attempts", name: "Attempt", number: true, cell: (task) => task.attempts },
  NEEDS,
  { key: "by", name: "Worker", cell: (task) => task.by ?? "–" },
];

const OWNERS: readonly Column<Schemas["Share"]>[] = [
  {
    key: "owner",
    name: "Owner",
    cell: (one) => <a href={listOf({ owner: one.owner })}>{one.owner}</a>,
    by: (one) => one.owner,
  },
  { key: "running", name: "Running", number: true, cell: (one) => count(one.running), by: (one) => one.running },
  { key: "waiting", name: "Queued", number: true, cell: (one) => count(one.waiting), by: (one) => one.waiting },
  { key: "priority", name: "Highest priority", number: true, cell: (one) => one.priority, by: (one) => one.priority },
];

const WORKERS: readonly Column<Schemas["Worker"]>[] = [
  { key: "name", name: "Worker", cell: (one) => one.name },
  { key: "machine", name: "Machine", cell: (one) => one.machine, by: (one) => one.machine },
  {
    key: "state",
    name: "Status",
    cell: (one) =>
      one.there ? (
        <Badge tone="good">connected</Badge>
      ) : (
        <Badge tone="bad">{`no heartbeat for ${wait(one.quiet_s)}`}</Badge>
      ),
  },
  { key: "slots", name: "Slots", number: true, cell: (one) => one.slots, by: (one) => one.slots },
  { key: "needs", name: "Accepts", cell: (one) => one.needs.join(", ") },
  { key: "since", name: "Since", number: true, cell: (one) => wait(Math.max(1, Date.now() / 1000 - one.since_s)) },
  { key: "version", name: "Version", cell: (one) => one.version },
];
