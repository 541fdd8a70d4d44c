/** The result of a run: measures of each flow and the path, expectations, fidelity checks, and files. */
import type { UseQueryResult } from "@tanstack/react-query";
import {
  controlOf,
  documentOf,
  type FlowNumbers,
  isKept,
  type Outline,
  type Run,
  type RunDocument,
  type TotalNumbers,
  windowText,
} from "../../data/runDocument";
import { Badge } from "../../parts/Badge";
import { Facts } from "../../parts/Facts";
import { Panel } from "../../parts/Panel";
import { type Column, Table } from "../../parts/Table";
import { count, digits, duration, packets, percent, plain, rate, size, wait } from "../../units";
import type { Verification } from "./damage";
import { Expectations } from "./Expectations";
import { Failure } from "./Failure";
import { Files } from "./Files";
import { Packets } from "./Packets";
import styles from "./RunPage.module.css";

const ms = (value: number | null | undefined): string => duration(value == null ? null : value / 1000);

/** A column of numbers, sorted by them. */
function numbers(
  key: string,
  name: string,
  by: (flow: FlowNumbers) => number | null | undefined,
  text: (value: number | null | undefined) => string,
): Column<FlowNumbers> {
  return { key, name, number: true, cell: (flow) => text(by(flow)), by };
}

const COLUMNS: readonly Column<FlowNumbers>[] = [
  {
    key: "name",
    name: "Flow",
    cell: (flow) => (flow.connected_s === null ? `${flow.name} (not connected)` : flow.name),
    by: (flow) => flow.name,
  },
  { key: "cc", name: "Congestion control", cell: controlOf, by: (flow) => flow.cc },
  numbers("goodput", "Goodput", (flow) => flow.goodput_bps, rate),
  numbers("rtt", "Mean RTT", (flow) => flow.rtt_ms?.mean, ms),
  numbers("p95", "95 % RTT", (flow) => flow.rtt_ms?.p95, ms),
  numbers("cwnd", "Mean cwnd", (flow) => flow.cwnd_packets?.mean, packets),
  numbers("retransmits", "Retransmits", (flow) => flow.retransmits, count),
  numbers("loss", "Loss", (flow) => flow.loss_ratio, percent),
  numbers("bytes", "Received", (flow) => flow.bytes, size),
  numbers("completion", "Completed in", (flow) => flow.completion_s, duration),
  numbers("requests", "Requests", (flow) => flow.requests?.completed, count),
  numbers("lost", "Lost requests", (flow) => flow.requests?.lost, count),
  numbers("request50", "Median request", (flow) => flow.requests?.time_ms?.p50, ms),
  numbers("request99", "99 % request", (flow) => flow.requests?.time_ms?.p99, ms),
  numbers("rounds", "Rounds", (flow) => flow.rounds?.completed, count),
  numbers("round50", "Median round", (flow) => flow.rounds?.time_ms?.p50, ms),
  numbers("round99", "99 % round", (flow) => flow.rounds?.time_ms?.p99, ms),
];

/** Several flows as a row below them, whose round trips and windows are their own. */
function asFlow(total: TotalNumbers): FlowNumbers {
  const own = { rtt_ms: null, cwnd_packets: null, loss_ratio: null };
  return { ...total, ...own, cc: `${total.flows} ${total.requests ? "connections" : "streams"}` };
}

interface Props {
  run: Run;
  outline: Outline | null;
  verification: UseQueryResult<Verification, Error>;
}

export function RunFacts({ run, outline, verification }: Props) {
  const found = documentOf(run);
  if (found.error) return <Failure run={run} />;
  if (run.partial) {
    return (
      <div className={styles.columns}>
        <Files run={run} verification={verification} />
      </div>
    );
  }
  if (!isKept(run.status) || found.flows === undefined) return null;
  const rows = [...found.flows, ...(found.totals ?? []).map(asFlow)];
  const columns = COLUMNS.filter((column) => column.by === undefined || rows.some((row) => column.by?.(row) != null));
  const measured = outline === null ? "" : windowText(outline);
  return (
    <div className="stack">
      <Panel title={`Flows ${measured}`.trim()}>
        <div className={styles.scrolls}>
          <Table label="Flows" columns={columns} rows={rows} rowKey={(flow) => flow.name} />
        </div>
      </Panel>
      <div className={styles.columns}>
        <PathPanel found={found} run={run} measured={measured} />
        {run.status !== "missed" && <Expectations run={run} />}
        <Fidelity found={found} />
        <Files run={run} verification={verification} />
        <Packets run={run} outline={outline} />
      </div>
    </div>
  );
}

function PathPanel({ found, run, measured }: { found: RunDocument; run: Run; measured: string }) {
  const rows: [string, string][] = [
    ["Utilisation", percent(found.path?.utilisation)],
    ["Jain’s index", plain(found.jain)],
    ["Queue, mean", packets(found.path?.queue_packets.mean)],
    ["Queue, 95 %", packets(found.path?.queue_packets.p95)],
    ["Dropped by the queue", count(found.path?.drops)],
    ["Marked by the queue", count(found.path?.marks)],
    ["Simulated", `${digits(run.virtual_s)} s in ${wait(run.wall_s ?? found.wall_s)}`],
  ];
  return (
    <Panel title={`Path ${measured}`.trim()}>
      <Facts look={styles.numbers} facts={rows} />
    </Panel>
  );
}

function Fidelity({ found }: { found: RunDocument }) {
  const checks = found.fidelity?.checks ?? [];
  const failed = checks.filter((check) => !check.ok).length;
  return (
    <Panel
      title="Fidelity"
      actions={<Badge tone={failed ? "bad" : "good"}>{failed ? `${failed} failed` : `${checks.length} passed`}</Badge>}
    >
      <details className={styles.fidelity} open={failed > 0}>
        <summary>Fidelity checks</summary>
        <ul className={styles.checks}>
          {checks.map((check) => (
            <li key={check.name + check.text}>
              <Badge tone={check.ok ? "good" : "bad"}>{check.name}</Badge> {check.text}
            </li>
          ))}
        </ul>
      </details>
    </Panel>
  );
}
