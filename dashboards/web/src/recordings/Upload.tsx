/** Sends a recording: a file that is dropped or chosen, with its format and the columns of a table. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "../api/client";
import { ErrorNote } from "../parts/ErrorNote";
import { FileField, SelectField, TextField } from "../parts/Field";
import { FORMATS, type Reading, recordings, send } from "./queries";
import styles from "./Recordings.module.css";

const COLUMNS = [
  ["time", "time_s"],
  ["rate", "dl in Mbit/s"],
  ["delay", "delay_ms"],
  ["loss", "loss_percent"],
] as const;

interface Props {
  onSent: (sent: Schemas["KeptRecording"], reading: Reading) => void;
}

export function Upload({ onSent }: Props) {
  const [reading, setReading] = useState<Reading>({});
  const [over, setOver] = useState(false);
  // Empties the input for the file.
  const [count, setCount] = useState(0);
  const sending = useMutation({
    mutationFn: (file: File) => send(file, reading),
    onSuccess: (sent) => onSent(sent, reading),
    onSettled: () => setCount(count + 1),
    meta: { again: recordings.queryKey },
  });
  const set = (field: keyof Reading, value: string): void => {
    const { [field]: _, ...others } = reading;
    setReading(value.trim() === "" ? others : { ...others, [field]: value.trim() });
  };
  const choose = ([file]: readonly File[]): void => {
    if (file) sending.mutate(file);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the input for the file does the same by keys
    <div
      className={styles.drop}
      data-drop
      data-over={over}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        choose([...event.dataTransfer.files]);
      }}
    >
      <div className={styles.inputs}>
        <FileField
          label="File of a recording"
          help="drop a file here, or choose one: mahimahi, CSV, or 0 and 1 for each packet"
          key={count}
          disabled={sending.isPending}
          onFiles={choose}
        />
        <SelectField
          label="Format"
          value={reading.format ?? ""}
          choices={[["", "by its name"], ...FORMATS]}
          onChange={(format) => set("format", format)}
        />
      </div>
      <details>
        <summary>Columns of a table</summary>
        <div className={styles.inputs}>
          {COLUMNS.map(([field, example]) => (
            <TextField
              key={field}
              label={`Column of ${field === "loss" ? "losses" : `${field}s`}`}
              placeholder={example}
              value={reading[field] ?? ""}
              onText={(text) => set(field, text)}
            />
          ))}
          <TextField
            label="Step"
            placeholder="1 s"
            help="without a column of times: how long each row lasts"
            value={reading.step ?? ""}
            onText={(text) => set("step", text)}
          />
        </div>
      </details>
      {sending.isPending && <p role="status">The recording is being sent and read.</p>}
      {sending.isError && <ErrorNote error={sending.error} />}
    </div>
  );
}
