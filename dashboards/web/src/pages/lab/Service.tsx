/** The service: its version, connections, totals of runs, and free disk space. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { addressOf } from "../../api/address";
import type { Schemas } from "../../api/client";
import { service } from "../../api/queries";
import { listOf, STATUSES } from "../../data/runList";
import { Badge } from "../../parts/Badge";
import { ErrorNote } from "../../parts/ErrorNote";
import { Fact, Facts } from "../../parts/Facts";
import { Panel } from "../../parts/Panel";
import { Waiting } from "../../parts/Waiting";
import { count, digits, size, wait } from "../../units";
import styles from "./Lab.module.css";

type About = Schemas["About"];

const POLL_MS = 5000;
// Less free space than one of these is low.
const LOW_SHARE = 0.05;
const LOW_BYTES = 5e9;
const LATE_S = 60;

export function Service() {
  const asked = useQuery({ ...service, refetchInterval: POLL_MS, placeholderData: keepPreviousData });
  if (asked.isError && asked.data === undefined) return <ErrorNote error={asked.error} />;
  if (asked.isPending) return <Waiting height="60vh" />;
  const about = asked.data;
  return (
    <div className="stack">
      <Facts
        look={styles.numbers}
        facts={[
          ["runs", count(Object.values(about.runs).reduce((sum, some) => sum + some, 0))],
          ["experiments", count(Object.values(about.experiments).reduce((sum, some) => sum + some, 0))],
          ["virtual time in total", wait(about.virtual_s)],
          ["virtual seconds per real second", about.wall_s > 0 ? digits(about.virtual_s / about.wall_s, 3) : "–"],
        ]}
      />
      <div className={styles.halves}>
        <Panel title="Service">
          <dl className={styles.facts}>
            <Fact name="Version">
              {about.version}, Python {about.python}
            </Fact>
            <Fact name="Uptime">{wait(Math.max(1, Date.now() / 1000 - about.since_s))}</Fact>
            <Fact name="Database">{about.database === "sqlite" ? "SQLite" : "PostgreSQL"}</Fact>
            <Fact name="Execution of runs">
              {about.executor === "dask" ? "on a Dask cluster" : `on this machine, ${about.jobs} at a time`}
            </Fact>
            <Fact name="Disk space">
              <DiskSpace about={about} />
            </Fact>
            <Fact name="Crashed guests">{count(about.guest_deaths)}</Fact>
            <Fact name="Open event streams">{count(about.followers)}</Fact>
            <Fact name="User-supplied code">
              {about.user_code ? "accepted from admins" : "refused (LONGHAUL_USER_CODE)"}
            </Fact>
          </dl>
        </Panel>
        <Panel title="Connections">
          <dl className={styles.facts}>
            <Fact name="Prometheus">
              <Export about={about} />
            </Fact>
            <Fact name="Grafana">
              {about.grafana ? (
                <a href={about.grafana} rel="noreferrer">
                  {about.grafana}
                </a>
              ) : (
                <span className="faint">not set (LONGHAUL_GRAFANA_URL)</span>
              )}
            </Fact>
            <Fact name="API reference">
              <a href={addressOf("/api/v1/openapi.json")}>OpenAPI document</a>
            </Fact>
            <Fact name="Metrics of the service">
              <a href={addressOf("/metrics")}>/metrics</a>
            </Fact>
          </dl>
        </Panel>
        <Panel title="Runs by status">
          <dl className={styles.facts}>
            {STATUSES.map((status) => (
              <Fact key={status} name={status}>
                <a href={listOf({ status })}>{count(about.runs[status] ?? 0)}</a>
              </Fact>
            ))}
          </dl>
        </Panel>
      </div>
    </div>
  );
}

function DiskSpace({ about }: { about: About }) {
  const { free_bytes, total_bytes } = about.disk;
  const low = free_bytes < LOW_BYTES || free_bytes < LOW_SHARE * total_bytes;
  return (
    <>
      {size(free_bytes)} of {size(total_bytes)} free {low && <Badge tone="warn">low: see longhaul prune</Badge>}
    </>
  );
}

function Export({ about }: { about: About }) {
  if (!about.prometheus) return <span className="faint">not set (LONGHAUL_PROMETHEUS)</span>;
  if (about.export_lag_s < LATE_S) return <Badge tone="good">samples arriving</Badge>;
  return (
    <>
      <Badge tone="bad">{`behind by ${wait(about.export_lag_s)}`}</Badge> {size(about.spool_bytes)} in the spool
    </>
  );
}
