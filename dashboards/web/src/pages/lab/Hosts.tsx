/** Hosts and their leases: the holder, the end of the lease, and the buttons that lease and release a host. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api, type Schemas } from "../../api/client";
import { readAgain } from "../../api/queries";
import { useMay, useSession } from "../../api/session";
import { oneOf, useViewState } from "../../navigation/viewState";
import { Badge } from "../../parts/Badge";
import { Button } from "../../parts/Button";
import { Dialog } from "../../parts/Dialog";
import { ErrorNote } from "../../parts/ErrorNote";
import { SelectField, TextField } from "../../parts/Field";
import { Form } from "../../parts/Form";
import { Panel } from "../../parts/Panel";
import { Segments } from "../../parts/Segments";
import type { Choices } from "../../parts/Select";
import { Waiting } from "../../parts/Waiting";
import { ago, rate, size, wait } from "../../units";
import { Calendar } from "./Calendar";
import styles from "./Lab.module.css";
import { StopAll } from "./StopAll";

type Host = Schemas["Host"];
type Use = Schemas["HostUse"];

const POLL_MS = 5000;
const VIEW = { span: oneOf(["day", "week"], "day") };
const DURATIONS: Choices<number> = [
  [1800, "30 minutes"],
  [3600, "1 hour"],
  [4 * 3600, "4 hours"],
  [86_400, "1 day"],
];

export function Hosts() {
  const [view, setView] = useViewState(VIEW);
  const [leasing, setLeasing] = useState<Host | null>(null);
  const asked = useQuery({
    queryKey: ["hosts"],
    queryFn: () => answered(api.GET("/api/v1/hosts")),
    refetchInterval: POLL_MS,
  });
  if (asked.isError && asked.data === undefined) return <ErrorNote error={asked.error} />;
  if (asked.isPending) return <Waiting height="60vh" />;
  return (
    <Panel
      title="Hosts"
      actions={
        <>
          {asked.data.some((host) => host.use) && <StopAll />}
          <Segments
            label="Calendar range"
            choices={[
              ["day", "24 hours"],
              ["week", "7 days"],
            ]}
            value={view.span}
            onChange={(span) => setView({ span })}
          />
        </>
      }
    >
      <p className={styles.lead}>
        Physical hosts, and the root slot of each machine: a run that changes the machine's own network has the machine
        to itself. A lease keeps other users and queued runs away until it is released or expires.
      </p>
      <ul className={styles.hosts}>
        {asked.data.map((host) => (
          <HostRow key={host.id} host={host} days={view.span === "day" ? 1 : 7} onLease={() => setLeasing(host)} />
        ))}
      </ul>
      {leasing && <LeaseDialog host={leasing} onClose={() => setLeasing(null)} />}
    </Panel>
  );
}

function HostRow({ host, days, onLease }: { host: Host; days: number; onLease: () => void }) {
  const may = useMay("run");
  const session = useSession();
  const mine = session.kind === "in" && host.holder === session.name;
  const release = useMutation({
    mutationFn: (fence: number) =>
      answered(api.DELETE("/api/v1/hosts/{id}/lease", { params: { path: { id: host.id }, query: { fence } } })),
    meta: { again: ["hosts"] },
  });
  const left = host.until_s === null ? 0 : host.until_s - Date.now() / 1000;
  const { fence } = host;
  const { use } = host;
  return (
    <li>
      <div className={styles.hostHead}>
        <strong>{host.id}</strong>
        {host.holder === null ? (
          <Badge tone="good">free</Badge>
        ) : (
          <Badge tone="busy">{`leased by ${host.holder}, ${wait(left)} left`}</Badge>
        )}
        {use?.health && <Health health={use.health} />}
        {use && !use.free && host.holder === null && <Badge tone="warn">in maintenance</Badge>}
        <span className="faint">{host.about}</span>
        <span className={styles.right}>
          {may && (host.holder === null || mine) && <Button onClick={onLease}>{mine ? "Extend" : "Lease"}</Button>}
          {may && mine && typeof fence === "number" && (
            <Button busy={release.isPending} onClick={() => release.mutate(fence)}>
              Release
            </Button>
          )}
        </span>
      </div>
      <Calendar host={host} closed={use?.closed ?? []} days={days} />
      {use && <Caps use={use} />}
      {release.isError && <ErrorNote error={release.error} />}
    </li>
  );
}

function Health({ health }: { health: NonNullable<Use["health"]> }) {
  const details = health.found.join("; ") || "no problems";
  return (
    <span title={`${ago(health.at)}: ${details}`}>
      <Badge tone={health.ok ? "good" : "bad"}>
        {health.ok ? "healthy" : `unhealthy: ${health.found[0] ?? "see its log"}`}
      </Badge>
    </span>
  );
}

function Caps({ use }: { use: Use }) {
  const peers = Object.entries(use.peers).map(([peer, path]) => (path.provisioned ? `${peer} (provisioned)` : peer));
  return (
    <p className="faint">
      At most {rate(use.rate_bps)}, {size(use.run_bytes)} per run, {size(use.day_bytes)} per day, {wait(use.longest_s)}{" "}
      at a time
      {peers.length > 0 && `; with ${peers.join(", ")}`}
    </p>
  );
}

function LeaseDialog({ host, onClose }: { host: Host; onClose: () => void }) {
  const [seconds, setSeconds] = useState(3600);
  const [about, setAbout] = useState("");
  const lease = useMutation({
    mutationFn: () =>
      answered(api.POST("/api/v1/hosts/{id}/lease", { params: { path: { id: host.id } }, body: { seconds, about } })),
    onSuccess: async () => {
      await readAgain(["hosts"]);
      onClose();
    },
  });
  return (
    <Dialog title={`Lease ${host.id}`} onClose={onClose}>
      <Form className={styles.form} onSubmit={() => lease.mutate()}>
        <SelectField label="Duration" value={seconds} choices={DURATIONS} onChange={setSeconds} />
        <TextField label="Purpose" help="Other users see it." maxLength={200} value={about} onText={setAbout} />
        {lease.isError && <ErrorNote error={lease.error} />}
        <div className="asks">
          <Button onClick={onClose}>Go back</Button>
          <Button kind="primary" type="submit" busy={lease.isPending}>
            Lease
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
