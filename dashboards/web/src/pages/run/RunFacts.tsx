/** What a run came to: measures of each flow and the path, what was expected, whether its numbers can be believed, its files. */
import { addressOf } from "../../api/address";
import { Badge } from "../../parts/Badge";
import { LinkButton } from "../../parts/Button";
import { Panel } from "../../parts/Panel";
import { type Column, Table } from "../../parts/Table";
import { count, digits, duration, packets, plain, rate, share, size, wait } from "../../units";
import { documentOf, type FlowNumbers, isKept, type Run, type RunDocument } from "./document";
import { Expectations } from "./Expectations";
import styles from "./RunPage.module.css";

const FILES: readonly (readonly [name: string, about: string])[] = [
  ["manifest.json", "all that determines it, and what it came to"],
  ["flows.csv", "what receivers got"],
  ["acks.csv", "TCP’s state at every ACK"],
  ["links.csv", "queues at every tick"],
  ["drops.csv", "every packet that was dropped"],
  ["acks.parquet", "the same, for programs"],
  ["log.txt", "what the guest said"],
];

const ms = (value: number | null | undefined): string => duration(value == null ? null : value / 1000);

const COLUMNS: readonly Column<FlowNumbers>[] = [
  { key: "name", name: "Flow", cell: (flow) => flow.name, by: (flow) => flow.name },
  { key: "cc", name: "Control", cell: (flow) => flow.cc ?? "–", by: (flow) => flow.cc },
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
];

export function RunFacts({ run }: { run: Run }) {
  const found = documentOf(run);
  if (found.error) return <Failure error={found.error} />;
  if (!isKept(run.status) || found.flows === undefined) return null;
  const columns = COLUMNS.filter(
    (column) => column.by === undefined || found.flows?.some((flow) => column.by?.(flow) != null),
  );
  return (
    <div className={styles.facts}>
      <Panel title="Flows">
        <div className={styles.scrolls}>
          <Table label="Flows" columns={columns} rows={found.flows} rowKey={(flow) => flow.name} />
        </div>
      </Panel>
      <div className={styles.columns}>
        <PathPanel found={found} run={run} />
        <Expectations run={run} />
        <Fidelity found={found} />
        <Panel title="Files">
          <ul className={styles.files}>
            {FILES.map(([name, about]) => (
              <li key={name}>
                <a href={addressOf(`/api/v1/runs/${run.id}/files/${name}`)} download>
                  {name}
                </a>{" "}
                <span>{about}</span>
              </li>
            ))}
          </ul>
          {run.links.grafana && <LinkButton href={run.links.grafana}>Open in Grafana</LinkButton>}
        </Panel>
      </div>
    </div>
  );
}

function PathPanel({ found, run }: { found: RunDocument; run: Run }) {
  const rows: [string, string][] = [
    ["Utilisation", share(found.path?.utilisation)],
    ["Jain’s index", plain(found.jain)],
    ["Queue, mean", packets(found.path?.queue_packets.mean)],
    ["Queue, 95 %", packets(found.path?.queue_packets.p95)],
    ["Dropped by the queue", count(found.path?.drops)],
    ["Marked by the queue", count(found.path?.marks)],
    ["Simulated", `${digits(run.virtual_s)} s in ${wait(run.wall_s)}`],
  ];
  return (
    <Panel title="Path">
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
  const broken = checks.filter((check) => !check.ok).length;
  return (
    <Panel
      title="Fidelity"
      actions={<Badge tone={broken ? "bad" : "good"}>{broken ? `${broken} broken` : `${checks.length} hold`}</Badge>}
    >
      <details className={styles.fidelity} open={broken > 0}>
        <summary>Whether its numbers can be believed</summary>
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

function Failure({ error }: { error: Record<string, string> }) {
  const said = [error.attempting, error.subject].filter(Boolean).join(" ");
  return (
    <div role="alert" className={styles.failure}>
      <h2>It failed</h2>
      <p>
        {said && `${said}: `}
        {error.what ?? error.detail}
      </p>
      {error.hint && <p className={styles.hint}>{error.hint}</p>}
    </div>
  );
}
