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
import { Panel } from "../../parts/Panel";
import { type Column, Table } from "../../parts/Table";
import { count, digits, duration, packets, plain, rate, share, size, wait } from "../../units";
import type { Verification } from "./damage";
import { Expectations } from "./Expectations";
import { Failure } from "./Failure";
import { Files } from "./Files";
import { Packets } from "./Packets";
import styles from "./RunPage.module.css";

const ms = (value: number | null | undefined): string => duration(value == null ? null : value / 1000);

const COLUMNS: readonly Column<FlowNumbers>[] = [
  {
    key: "name",
    name: "Flow",
    cell: (flow) => (flow.connected_s === null ? `${flow.name} (not connected)` : flow.name),
    by: (flow) => flow.name,
  },
  { key: "cc", name: "Congestion control", cell: controlOf, by: (flow) => flow.cc },
  {
    key: "goodput",
    name: "Goodput",
    number: true,
    cell: (flow) => rate(flow.goodput_bps),
    by: (flow) => flow.goodput_bps,
  },
  {
    key: "rtt",
    name: "Mean RTT",
    number: true,
    cell: (flow) => ms(flow.rtt_ms?.mean),
    by: (flow) => flow.rtt_ms?.mean,
  },
  { key: "p95", name: "95 % RTT", number: true, cell: (flow) => ms(flow.rtt_ms?.p95), by: (flow) => flow.rtt_ms?.p95 },
  {
    key: "cwnd",
    name: "Mean cwnd",
    number: true,
    cell: (flow) => packets(flow.cwnd_packets?.mean),
    by: (flow) => flow.cwnd_packets?.mean,
  },
  {
    key: "retransmits",
    name: "Retransmits",
    number: true,
    cell: (flow) => count(flow.retransmits),
    by: (flow) => flow.retransmits,
  },
  { key: "loss", name: "Loss", number: true, cell: (flow) => share(flow.loss_ratio), by: (flow) => flow.loss_ratio },
  { key: "bytes", name: "Received", number: true, cell: (flow) => size(flow.bytes), by: (flow) => flow.bytes },
  {
    key: "completion",
    name: "Completed in",
    number: true,
    cell: (flow) => duration(flow.completion_s),
    by: (flow) => flow.completion_s,
  },
  {
    key: "requests",
    name: "Requests",
    number: true,
    cell: (flow) => count(flow.requests?.completed),
    by: (flow) => flow.requests?.completed,
  },
  {
    key: "lost",
    name: "Lost requests",
    number: true,
    cell: (flow) => count(flow.requests?.lost),
    by: (flow) => flow.requests?.lost,
  },
  {
    key: "request50",
    name: "Median request",
    number: true,
    cell: (flow) => ms(flow.requests?.time_ms?.p50),
    by: (flow) => flow.requests?.time_ms?.p50,
  },
  {
    key: "request99",
    name: "99 % request",
    number: true,
    cell: (flow) => ms(flow.requests?.time_ms?.p99),
    by: (flow) => flow.requests?.time_ms?.p99,
  },
  {
    key: "rounds",
    name: "Rounds",
    number: true,
    cell: (flow) => count(flow.rounds?.completed),
    by: (flow) => flow.rounds?.completed,
  },
  {
    key: "round50",
    name: "Median round",
    number: true,
    cell: (flow) => ms(flow.rounds?.time_ms?.p50),
    by: (flow) => flow.rounds?.time_ms?.p50,
  },
  {
    key: "round99",
    name: "99 % round",
    number: true,
    cell: (flow) => ms(flow.rounds?.time_ms?.p99),
    by: (flow) => flow.rounds?.time_ms?.p99,
  },
];

/** Several flows as a row below them, whose round trips and windows are their own. */
function asFlow(total: TotalNumbers): FlowNumbers {
  const own = { throughput_bps: null, rtt_ms: null, cwnd_packets: null, loss_ratio: null };
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
    <div className={styles.facts}>
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
    ["Utilisation", share(found.path?.utilisation)],
    ["Jain’s index", plain(found.jain)],
    ["Queue, mean", packets(found.path?.queue_packets.mean)],
    ["Queue, 95 %", packets(found.path?.queue_packets.p95)],
    ["Dropped by the queue", count(found.path?.drops)],
    ["Marked by the queue", count(found.path?.marks)],
    ["Simulated", `${digits(run.virtual_s)} s in ${wait(run.wall_s ?? found.wall_s)}`],
  ];
  return (
    <Panel title={`Path ${measured}`.trim()}>
      <dl className={styles.numbers}>
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
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
