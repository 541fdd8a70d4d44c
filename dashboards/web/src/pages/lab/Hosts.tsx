/** What of the lab there is one of: who has it, until when, and the way to take it and to give it back. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api, type Schemas } from "../../api/client";
import { useMay, useSession } from "../../api/session";
import { oneOf, useViewState } from "../../navigation/viewState";
import { Badge } from "../../parts/Badge";
import { Button } from "../../parts/Button";
import { Dialog } from "../../parts/Dialog";
import { ErrorNote } from "../../parts/ErrorNote";
import { Field, TextField } from "../../parts/Field";
import { Panel } from "../../parts/Panel";
import { Segments } from "../../parts/Segments";
import { Waiting } from "../../parts/Waiting";
import { ago, rate, size, wait } from "../../units";
import { Calendar } from "./Calendar";
import styles from "./Lab.module.css";
import { StopAll } from "./StopAll";

type Host = Schemas["Host"];
type Use = Schemas["HostUse"];

const LOOK_AGAIN_MS = 5000;
const VIEW = { span: oneOf(["day", "week"], "day") };
const LEASES = [
  [1800, "30 minutes"],
  [3600, "1 hour"],
  [4 * 3600, "4 hours"],
  [86_400, "1 day"],
] as const;

export function Hosts() {
  const [view, setView] = useViewState(VIEW);
  const [taking, setTaking] = useState<Host | null>(null);
  const asked = useQuery({
    queryKey: ["hosts"],
    queryFn: () => answered(api.GET("/api/v1/hosts")),
    refetchInterval: LOOK_AGAIN_MS,
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
            label="How far the calendar goes"
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
        Physical endpoints, and root's slot of each machine: who sets up a host's own network has that machine to
        themselves. A lease keeps others away, runs of the queue too, until it is given back or runs out.
      </p>
      <ul className={styles.hosts}>
        {asked.data.map((host) => (
          <HostRow key={host.id} host={host} days={view.span === "day" ? 1 : 7} onTake={() => setTaking(host)} />
        ))}
      </ul>
      {taking && <Take host={taking} onClose={() => setTaking(null)} />}
    </Panel>
  );
}

function HostRow({ host, days, onTake }: { host: Host; days: number; onTake: () => void }) {
  const may = useMay("run");
  const session = useSession();
  const client = useQueryClient();
  const mine = session.kind === "in" && host.holder === session.name;
  const back = useMutation({
    mutationFn: (fence: number) =>
      answered(api.DELETE("/api/v1/hosts/{id}/lease", { params: { path: { id: host.id }, query: { fence } } })),
    onSettled: () => client.invalidateQueries({ queryKey: ["hosts"] }),
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
          <Badge tone="busy">{`${host.holder}, ${wait(left)} more`}</Badge>
        )}
        {use?.health && <Health health={use.health} />}
        {use && !use.free && host.holder === null && <Badge tone="warn">in maintenance</Badge>}
        <span className={styles.faint}>{host.about}</span>
        <span className={styles.right}>
          {may && (host.holder === null || mine) && <Button onClick={onTake}>{mine ? "Hold longer" : "Take"}</Button>}
          {may && mine && typeof fence === "number" && (
            <Button busy={back.isPending} onClick={() => back.mutate(fence)}>
              Give back
            </Button>
          )}
        </span>
      </div>
      <Calendar host={host} closed={use?.closed ?? []} days={days} />
      {use && <Caps use={use} />}
      {back.isError && <ErrorNote error={back.error} />}
    </li>
  );
}

function Health({ health }: { health: NonNullable<Use["health"]> }) {
  const told = health.found.join("; ") || "nothing to complain about";
  return (
    <span title={`${ago(health.at)}: ${told}`}>
      <Badge tone={health.ok ? "good" : "bad"}>
        {health.ok ? "well" : `not well: ${health.found[0] ?? "see its log"}`}
      </Badge>
    </span>
  );
}

function Caps({ use }: { use: Use }) {
  const peers = Object.entries(use.peers).map(([peer, way]) => (way.provisioned ? `${peer} (provisioned)` : peer));
  return (
    <p className={styles.faint}>
      At most {rate(use.rate_bps)}, {size(use.run_bytes)} a run, {size(use.day_bytes)} a day, {wait(use.longest_s)} at a
      time
      {peers.length > 0 && `; with ${peers.join(", ")}`}
    </p>
  );
}

function Take({ host, onClose }: { host: Host; onClose: () => void }) {
  const client = useQueryClient();
  const [seconds, setSeconds] = useState<number>(3600);
  const [about, setAbout] = useState("");
  const take = useMutation({
    mutationFn: () =>
      answered(api.POST("/api/v1/hosts/{id}/lease", { params: { path: { id: host.id } }, body: { seconds, about } })),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["hosts"] });
      onClose();
    },
  });
  return (
    <Dialog title={`Take ${host.id}`} onClose={onClose}>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          take.mutate();
        }}
      >
        <Field label="For">
          {(wiring) => (
            <select {...wiring} value={seconds} onChange={(event) => setSeconds(Number(event.target.value))}>
              {LEASES.map(([value, name]) => (
                <option key={value} value={value}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
        <TextField
          label="What for"
          help="Others see it while they wait."
          maxLength={200}
          value={about}
          onChange={(event) => setAbout(event.target.value)}
        />
        {take.isError && <ErrorNote error={take.error} />}
        <div className={styles.asks}>
          <Button onClick={onClose}>Leave it</Button>
          <Button kind="primary" type="submit" busy={take.isPending}>
            Take it
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
