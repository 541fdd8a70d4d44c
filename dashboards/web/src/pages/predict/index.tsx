/** A transfer's time: four numbers of the path, and a row for each congestion control and number of streams. The numbers are in the address. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { answered, api, type Schemas } from "../../api/client";
import { useMay } from "../../api/session";
import { text, useViewState } from "../../navigation/viewState";
import { Button } from "../../parts/Button";
import { CopyButton } from "../../parts/CopyButton";
import { Empty } from "../../parts/Empty";
import { ErrorNote } from "../../parts/ErrorNote";
import { TextField } from "../../parts/Field";
import { Form } from "../../parts/Form";
import { Panel } from "../../parts/Panel";
import { type Column, Table } from "../../parts/Table";
import { count, rate, share, size, wait } from "../../units";
import styles from "./Predict.module.css";

type Prediction = Schemas["Prediction"];
type Row = Schemas["PredictionRow"];
type Asked = Schemas["PredictionAsked"];

const POLL_MS = 1500;
const VIEW = {
  size: text(),
  rate: text(),
  rtt: text(),
  loss: text(),
  buffer: text(),
  streams: text("1,4"),
  cc: text("all"),
  within: text("5 %"),
};
type View = Record<keyof typeof VIEW, string>;

export default function Predict() {
  const [view, setView] = useViewState(VIEW);
  const [draft, setDraft] = useState<View>(view);
  const may = useMay("run");
  const asked = view.size && view.rate && view.rtt ? question(view) : null;
  const known = useQuery({
    queryKey: ["prediction", asked],
    queryFn: () => read(asked as Asked),
    enabled: asked !== null,
  });
  const run = useMutation({ mutationFn: (body: Asked) => answered(api.POST("/api/v1/predictions", { body })) });
  const found = run.data ?? known.data;
  const running = found?.status === "running";
  const { mutate } = run;
  // Each round follows from the runs before it: the same question again submits the next one.
  useEffect(() => {
    if (!running || asked === null || run.isPending) return;
    const timer = window.setTimeout(() => (may ? mutate(asked) : void known.refetch()), POLL_MS);
    return () => window.clearTimeout(timer);
  });
  const change = (name: keyof View) => ({
    value: draft[name],
    onText: (text: string) => setDraft({ ...draft, [name]: text }),
  });
  const complete = Boolean(draft.size && draft.rate && draft.rtt);
  const start = (): void => {
    run.reset();
    setView(draft, { push: true });
    if (may) mutate(question(draft));
  };
  const error = run.error ?? known.error;
  return (
    <>
      <h1>Predict a transfer</h1>
      <p className="lead">
        How long does a transfer take on a path, and with which settings? The lab runs its start-up and its steady state
        in virtual time.
      </p>
      <Form className={styles.form} onSubmit={() => complete && start()}>
        <div className={styles.numbers}>
          <TextField label="Size" placeholder="2 TB" required {...change("size")} />
          <TextField label="Rate" placeholder="2 Gbit/s" required {...change("rate")} />
          <TextField label="RTT" placeholder="280 ms" required {...change("rtt")} />
          <TextField label="Loss" placeholder="1e-5" help="Share of packets lost by chance" {...change("loss")} />
        </div>
        <details className={styles.more}>
          <summary>More</summary>
          <div className={styles.numbers}>
            <TextField label="Buffer" placeholder="1 BDP" help="Of the bottleneck, as in 20 ms" {...change("buffer")} />
            <TextField label="Streams" help="Numbers to try" {...change("streams")} />
            <TextField label="Congestion controls" help="all: cubic, bbr and htcp" {...change("cc")} />
            <TextField label="Interval" help="Half width at which no more runs are made" {...change("within")} />
          </div>
        </details>
        <div className={styles.actions}>
          <Button type="submit" kind="primary" disabled={!complete} busy={run.isPending || (running && may)}>
            Predict
          </Button>
          <span role="status">{found !== undefined && state(found)}</span>
        </div>
      </Form>
      {error !== null && <ErrorNote error={error} />}
      {found !== undefined && error === null && <Answer found={found} may={may} />}
    </>
  );
}

function question(view: View): Asked {
  const named = [view.loss && `loss ${view.loss}`, view.buffer && `buffer ${view.buffer}`];
  return {
    size: view.size,
    path: [view.rate, view.rtt, ...named].filter(Boolean).join(", "),
    streams: view.streams.split(",").map(Number),
    cc: view.cc.split(",").map((name) => name.trim()),
    within: view.within.includes("%") ? Number.parseFloat(view.within) / 100 : Number(view.within),
  };
}

function read(asked: Asked): Promise<Prediction> {
  const query = { ...asked, path: String(asked.path), streams: asked.streams?.join(","), cc: asked.cc?.join(",") };
  return answered(api.GET("/api/v1/predictions", { params: { query } }));
}

function state(found: Prediction): string {
  if (found.status === "running") return `${count(found.waiting)} runs to go in this round`;
  if (found.status === "not run") return "Not run yet";
  return `${count(found.runs)} runs, ${wait(found.cpu_s)} of processor time`;
}

function Answer({ found, may }: { found: Prediction; may: boolean }) {
  if (found.rows.length === 0 && found.faults.length === 0) {
    if (found.status !== "not run") return null;
    return (
      <Empty title="Not run yet">
        <p>{may ? "Predict runs it." : "A token with the scope run can run it."}</p>
      </Empty>
    );
  }
  const best = found.rows.find((row) => row.seconds !== null);
  return (
    <div className="stack">
      <Table label="Prediction" columns={COLUMNS} rows={found.rows} rowKey={(row) => `${row.cc} ${row.streams}`} />
      <p className="lead">
        {size(found.size_bytes)} take at least {wait(found.least_s)}, at the line's payload rate of{" "}
        {rate(found.payload_bps)}.
      </p>
      {found.faults.map((one) => (
        <p key={`${one.cc} ${one.streams}`}>
          {one.cc} with {one.streams} streams failed: {String(one.error.what)}
        </p>
      ))}
      {found.status === "done" && best && (
        <Panel title={`Settings for ${best.cc} with ${best.streams} ${best.streams === 1 ? "stream" : "streams"}`}>
          <pre className={styles.commands}>{best.commands.join("\n")}</pre>
          <CopyButton text={() => best.commands.join("\n")}>Copy</CopyButton>
        </Panel>
      )}
    </div>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  { key: "cc", name: "Congestion control", cell: (row) => row.cc, by: (row) => row.cc },
  { key: "streams", name: "Streams", cell: (row) => row.streams, by: (row) => row.streams, number: true },
  { key: "time", name: "Time", cell: (row) => wait(row.seconds), by: (row) => row.seconds, number: true },
  {
    key: "interval",
    name: "95 % interval",
    cell: (row) => (row.low_s === null ? "–" : `${wait(row.low_s)} to ${wait(row.high_s)}`),
  },
  { key: "rate", name: "Rate", cell: (row) => rate(row.rate_bps), by: (row) => row.rate_bps, number: true },
  { key: "buffers", name: "Socket buffers", cell: (row) => size(row.buffer_bytes), number: true },
  {
    key: "harm",
    name: "A CUBIC flow loses",
    cell: (row) => (row.harm === null ? "–" : share(Math.max(0, row.harm.share))),
    by: (row) => row.harm?.share,
    number: true,
  },
  { key: "from", name: "From", cell: known },
];

function known(row: Row): string {
  if (row.how === "undecided") return `undecided: ${row.why}`;
  if (row.how === "whole") return "whole transfers";
  return row.fills_line ? "steady state: fills the line" : `steady state, ${count(row.loss_epochs)} loss epochs`;
}
