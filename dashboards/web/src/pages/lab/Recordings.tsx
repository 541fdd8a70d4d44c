/** Recordings of links: upload, the list of those that are kept, one drawn, and a launch with it. Admins delete them. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api } from "../../api/client";
import { useMay } from "../../api/session";
import { linkTo } from "../../navigation/hash";
import { Button } from "../../parts/Button";
import { ErrorNote } from "../../parts/ErrorNote";
import { Panel } from "../../parts/Panel";
import { type Column, Table } from "../../parts/Table";
import { Waiting } from "../../parts/Waiting";
import { Drawn } from "../../recordings/Drawn";
import { formatOf, type Reading, type Recording, recordings } from "../../recordings/queries";
import { Upload } from "../../recordings/Upload";
import { ago, size } from "../../units";
import styles from "./Lab.module.css";

interface Open {
  reference: string;
  /** How it was sent. */
  reading: Reading;
}

export function Recordings() {
  const [open, setOpen] = useState<Open | null>(null);
  const [mayRun, mayDelete] = [useMay("run"), useMay("admin")];
  const kept = useQuery(recordings);
  const removal = useMutation({
    mutationFn: ({ reference }: Recording) =>
      answered(
        api.DELETE("/api/v1/recordings/{sha256}", { params: { path: { sha256: reference.replace("sha256:", "") } } }),
      ),
    meta: { again: recordings.queryKey },
  });
  const shown = kept.data?.find((one) => one.reference === open?.reference);
  const columns: readonly Column<Recording>[] = [
    {
      key: "name",
      name: "Name",
      cell: (one) => (
        <Button
          kind="quiet"
          aria-expanded={one === shown}
          onClick={() => setOpen(one === shown ? null : { reference: one.reference, reading: {} })}
        >
          {one.name}
        </Button>
      ),
      by: (one) => one.name,
    },
    {
      key: "reference",
      name: "SHA-256",
      cell: (one) => <code title={one.reference}>{one.reference.slice(7, 15)}</code>,
    },
    { key: "bytes", name: "Size", cell: (one) => size(one.bytes), by: (one) => one.bytes, number: true },
    { key: "kept_at", name: "Sent", cell: (one) => ago(one.kept_at), by: (one) => one.kept_at },
    {
      key: "delete",
      name: "",
      cell: (one) =>
        mayDelete && (
          <Button
            kind="quiet"
            aria-label={`Delete ${one.name}`}
            busy={removal.isPending}
            onClick={() => removal.mutate(one)}
          >
            Delete
          </Button>
        ),
    },
  ];
  if (kept.isLoadingError) return <ErrorNote error={kept.error} />;
  if (kept.data === undefined) return <Waiting height="60vh" />;
  return (
    <Panel title="Recordings of links">
      <p className={styles.lead}>
        A recording says what a link can carry at every instant, its delay and its losses. An experiment replays one as
        its bottleneck; models of a cellular and a satellite link need no file.
      </p>
      {mayRun && <Upload onSent={({ reference }, reading) => setOpen({ reference, reading })} />}
      {kept.isError && <ErrorNote error={kept.error} />}
      {removal.isError && <ErrorNote error={removal.error} />}
      {kept.data.length === 0 ? (
        <p className="lead">No recording was sent.</p>
      ) : (
        <Table label="Recordings" columns={columns} rows={kept.data} rowKey={(one) => one.reference} />
      )}
      {open && shown && (
        <section className={styles.shown} aria-label={shown.name}>
          <h3>
            {shown.name}{" "}
            {mayRun && (
              <Button kind="quiet" onClick={() => void launch(shown, open.reading)}>
                Launch with it
              </Button>
            )}
          </h3>
          <Drawn wanted={open} name={shown.name} />
        </section>
      )}
    </Panel>
  );
}

async function launch({ reference, name }: Recording, { format, step, ...columns }: Reading): Promise<void> {
  const fields = [
    `file: ${reference}`,
    ...(format && format !== formatOf(name) ? [`format: ${format}`] : []),
    ...(step ? [`step: ${JSON.stringify(step)}`] : []),
    ...(Object.keys(columns).length > 0 ? [`columns: ${JSON.stringify(columns)}`] : []),
  ];
  const text = `experiment: recorded
path:
  recording:
    ${fields.join("\n    ")}
  rtt: 40 ms
  buffer: 200 packets
flows:
  - {name: one, cc: cubic}
duration: 30 s
`;
  const { FIRST, replaceDraft } = await import("../launch/draft");
  replaceDraft({ ...FIRST, text });
  window.location.hash = linkTo(["launch"]);
}
