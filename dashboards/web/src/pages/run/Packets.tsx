/** The packets of a kept run: the file, if it captured some, and a form that runs it once more for them. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { addressOf } from "../../api/address";
import { answered, api } from "../../api/client";
import { useMay } from "../../api/session";
import { isKept, type Outline, originalOf, type Run } from "../../data/runDocument";
import { Button } from "../../parts/Button";
import { ErrorNote } from "../../parts/ErrorNote";
import { SelectField, TextField } from "../../parts/Field";
import { Form } from "../../parts/Form";
import { Panel } from "../../parts/Panel";
import styles from "./RunPage.module.css";
import { useCapture, useReruns } from "./runQueries";

const FILE = "capture.pcapng.zst";
export function Packets({ run, outline }: { run: Run; outline: Outline | null }) {
  const mayRun = useMay("run");
  const captures = isKept(run.status) && originalOf(run) === null && run.backend === "sandbox";
  const reruns = useReruns(run.id, captures);
  // A rerun that captures packets has changed the files when it ends.
  const ends = (reruns.data?.items ?? []).map((one) => `${one.id} ${one.status}`).join();
  const files = useQuery({
    queryKey: ["files", run.id, ends],
    queryFn: () => answered(api.GET("/api/v1/runs/{id}/files", { params: { path: { id: run.id } } })),
    enabled: captures,
    placeholderData: (before) => before,
  });
  if (!captures) return null;
  return (
    <Panel title="Packets">
      {files.data?.includes(FILE) ? (
        <ul className={styles.files}>
          <li>
            <a href={addressOf(`/api/v1/runs/${run.id}/files/${FILE}`)} download>
              {FILE}
            </a>{" "}
            <span>for Wireshark and tshark, in virtual time</span>
          </li>
        </ul>
      ) : (
        <p className={styles.hint}>The run has no packets yet. It gives the same packets whenever it runs again.</p>
      )}
      {mayRun && <CaptureForm run={run} outline={outline} />}
    </Panel>
  );
}

function CaptureForm({ run, outline }: { run: Run; outline: Outline | null }) {
  const capture = useCapture(run.id);
  const [at, setAt] = useState("bottleneck");
  const [snap, setSnap] = useState("");
  const [flow, setFlow] = useState("");
  const places = at.split(/[\s,]+/).filter((place) => place !== "");
  const submit = (): void =>
    capture.mutate({ at: places, snap: snap === "" ? null : Number(snap), flows: flow === "" ? null : [flow] });
  return (
    <Form className={styles.capture} onSubmit={submit}>
      <TextField
        label="Places"
        help="bottleneck, hosts as in a1 or a*, links as in s1-s2, or all"
        value={at}
        onText={setAt}
      />
      <TextField
        label="Bytes of each packet"
        help="empty: its headers"
        type="number"
        min={42}
        max={65535}
        value={snap}
        onText={setSnap}
      />
      <SelectField
        label="Flow"
        value={flow}
        choices={[["", "every packet"], ...(outline?.flows ?? []).map(({ name }) => name)]}
        onChange={setFlow}
      />
      <Button
        type="submit"
        busy={capture.isPending}
        disabled={places.length === 0}
        title="Simulates the run again for its packets, and compares the traces"
      >
        Capture
      </Button>
      {capture.error && <ErrorNote error={capture.error} />}
    </Form>
  );
}
