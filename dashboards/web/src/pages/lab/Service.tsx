/** The service itself: its version, what it is connected with, how much it has done, and the room that is left. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { addressOf } from "../../api/address";
import { answered, api, type Schemas } from "../../api/client";
import { listOf, STATUSES } from "../../data/runList";
import { Badge } from "../../parts/Badge";
import { ErrorNote } from "../../parts/ErrorNote";
import { Panel } from "../../parts/Panel";
import { Waiting } from "../../parts/Waiting";
import { count, digits, size, wait } from "../../units";
import { Figures } from "./Figures";
import styles from "./Lab.module.css";

type About = Schemas["About"];

const LOOK_AGAIN_MS = 5000;
// Less than so much of the disk, or so many bytes, is little.
const LITTLE_SHARE = 0.05;
const LITTLE_BYTES = 5e9;
const LATE_S = 60;

export function Service() {
  const asked = useQuery({
    queryKey: ["about"],
    queryFn: () => answered(api.GET("/api/v1/about")),
    refetchInterval: LOOK_AGAIN_MS,
    placeholderData: keepPreviousData,
  });
  if (asked.isError && asked.data === undefined) return <ErrorNote error={asked.error} />;
  if (asked.isPending) return <Waiting height="60vh" />;
  const about = asked.data;
  return (
    <div className={styles.grid}>
      <Figures
        figures={[
          ["runs", count(Object.values(about.runs).reduce((sum, some) => sum + some, 0))],
          ["experiments", count(Object.values(about.experiments).reduce((sum, some) => sum + some, 0))],
          ["virtual time so far", wait(about.virtual_s)],
          ["virtual seconds a wall second", about.wall_s > 0 ? digits(about.virtual_s / about.wall_s, 3) : "–"],
        ]}
      />
      <div className={styles.halves}>
        <Panel title="Service">
          <dl className={styles.facts}>
            <Fact name="Version">
              {about.version}, Python {about.python}
            </Fact>
            <Fact name="Up for">{wait(Math.max(1, Date.now() / 1000 - about.since_s))}</Fact>
            <Fact name="Record">{about.database === "sqlite" ? "SQLite" : "PostgreSQL"}</Fact>
            <Fact name="Runs are carried out">
              {about.executor === "dask" ? "by a Dask cluster" : `on this machine, ${about.jobs} at a time`}
            </Fact>
            <Fact name="Room for runs">
              <Room about={about} />
            </Fact>
            <Fact name="Guests that died">{count(about.guest_deaths)}</Fact>
            <Fact name="Followers">{count(about.followers)}</Fact>
            <Fact name="Code of one's own">
              {about.user_code ? "taken from admins" : "not taken (LONGHAUL_USER_CODE)"}
            </Fact>
          </dl>
        </Panel>
        <Panel title="Beside it">
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
                <span className={styles.faint}>none is set (LONGHAUL_GRAFANA_URL)</span>
              )}
            </Fact>
            <Fact name="Reference of the API">
              <a href={addressOf("/api/v1/openapi.json")}>OpenAPI document</a>
            </Fact>
            <Fact name="The service's metrics">
              <a href={addressOf("/metrics")}>/metrics</a>
            </Fact>
          </dl>
        </Panel>
        <Panel title="Runs by state">
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

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Room({ about }: { about: About }) {
  const { free_bytes, total_bytes } = about.disk;
  const little = free_bytes < LITTLE_BYTES || free_bytes < LITTLE_SHARE * total_bytes;
  return (
    <>
      {size(free_bytes)} of {size(total_bytes)} free {little && <Badge tone="warn">little: see longhaul prune</Badge>}
    </>
  );
}

function Export({ about }: { about: About }) {
  if (!about.prometheus) return <span className={styles.faint}>none is set (LONGHAUL_PROMETHEUS)</span>;
  if (about.export_lag_s < LATE_S) return <Badge tone="good">samples arrive</Badge>;
  return (
    <>
      <Badge tone="bad">{`behind by ${wait(about.export_lag_s)}`}</Badge> {size(about.spool_bytes)} wait
    </>
  );
}
