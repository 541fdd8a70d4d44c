/** The recording that a link replays: a file that was sent, or a model with its parameters; drawn below its fields. */
import { useQuery } from "@tanstack/react-query";
import { useId, useRef, useState } from "react";
import { useMay } from "../../../api/session";
import { useSettled } from "../../../hooks";
import { Select } from "../../../parts/Select";
import { Drawn } from "../../../recordings/Drawn";
import { formatOf, models, type Recording, recordings } from "../../../recordings/queries";
import { Upload } from "../../../recordings/Upload";
import { change, draft } from "../draft";
import { mistakeAt } from "../problems";
import { fieldsOf } from "../schema";
import { type Location, type Value, valueAt, without, withValue } from "../yamlText";
import { textOf, useEdit } from "./edit";
import { FieldAt } from "./FieldAt";
import styles from "./Form.module.css";
import { MODELS, wantedOf } from "./wanted";

const ALWAYS = ["offset", "at_end", "scale"] as const;
const OF_FILES = ["format", "step", "between"] as const;
const OF_MODELS = ["length", "seed"] as const;
// A recording is drawn so long after the last key.
const SETTLE_MS = 400;
const BANDWIDTH = "10 Mbit/s";

interface Props {
  /** The link: the path, or one of the topology. */
  link: Location;
  field: "recording" | "reverse_recording";
}

export function RecordingFields({ link, field }: Props) {
  const { data, schema, mistakes } = useEdit();
  const at = [...link, field];
  const id = useId();
  const mayUpload = useMay("run");
  // Only an open one can take a file.
  const [opened, setOpened] = useState(false);
  const kept = useQuery(recordings).data ?? [];
  const value = valueAt(data, at);
  const [file, model] = [textOf(valueAt(value, ["file"])), textOf(valueAt(value, ["model"]))];
  const mistake = mistakeAt(mistakes, at) ?? mistakeAt(mistakes, [...at, "file"]);
  // The bandwidth, which a recording replaces, comes back without it.
  const rate = field === "recording" ? "bandwidth" : "reverse_bandwidth";
  const former = useRef<Value | undefined>(undefined);
  const replay = (recording: Value | undefined, hasRates = true): void => {
    let { text } = draft.get();
    const set = (name: string, to: Value | undefined): void => {
      text =
        to === undefined
          ? without(text, [...link, name])
          : withValue(text, [...link, name], to, fieldsOf(schema, link));
    };
    const written = valueAt(data, [...link, rate]);
    if (recording !== undefined && hasRates && written !== undefined) {
      former.current = written;
      set(rate, undefined);
    }
    const needed = link.length === 1 && rate === "bandwidth" ? BANDWIDTH : undefined;
    if (recording === undefined && written === undefined) set(rate, former.current ?? needed);
    set(field, recording);
    change({ text });
  };
  const choose = (chosen: string): void => {
    if (chosen === "") replay(undefined);
    else if (chosen in MODELS) replay({ model: chosen });
    else replay({ file: chosen });
  };
  const now = wantedOf(value);
  const settled = useSettled(now, SETTLE_MS);
  const wanted = now && settled;
  const known = kept.some((one) => one.reference === file);
  const direction = field === "recording" ? "" : ", reverse";
  return (
    <details
      className={styles.more}
      open={value !== undefined || undefined}
      onToggle={(event) => setOpened(event.currentTarget.open)}
    >
      <summary>
        Recorded link{direction}
        {value === undefined ? "" : ` (${model || nameOf(file, kept)})`}
      </summary>
      <div className={styles.fields}>
        <div className={styles.wide}>
          <label htmlFor={id}>Recording{direction}</label>
          <Select
            id={id}
            className={styles.control}
            value={file || model}
            disabled={data === null}
            aria-invalid={mistake !== undefined}
            aria-describedby={`${id}-about`}
            choices={[
              ["", "none: a constant rate"],
              ...(file === "" || known ? [] : [file]),
              ...kept.map(({ name, reference }) => [reference, `${name} (${reference.slice(7, 15)})`] as const),
              ...Object.entries(MODELS),
            ]}
            onChange={choose}
          />
          <div id={`${id}-about`} className={mistake ? styles.mistake : styles.help}>
            {mistake?.message ?? "what the link could carry at every instant; it replaces the bandwidth"}
          </div>
        </div>
        {value !== undefined &&
          [...ALWAYS, ...(model ? OF_MODELS : OF_FILES)].map((name) => (
            <FieldAt key={name} at={[...at, name]} {...(name === "format" ? { placeholder: "by its name" } : {})} />
          ))}
        {model && <Parameters at={at} model={model} />}
      </div>
      {opened && value === undefined && mayUpload && (
        <Upload
          onSent={({ reference, name }, { format, step, ...columns }) =>
            replay(
              {
                file: reference,
                ...(format && format !== formatOf(name) ? { format } : {}),
                ...(step ? { step } : {}),
                ...(Object.keys(columns).length > 0 ? { columns: { ...columns } } : {}),
              },
              format !== "losses",
            )
          }
        />
      )}
      {wanted && <Drawn wanted={wanted} name={model || nameOf(file, kept)} />}
    </details>
  );
}

/** The parameters of a model, with its defaults. */
function Parameters({ at, model }: { at: Location; model: string }) {
  const found = useQuery(models).data?.find((one) => one.model === model);
  return found?.parameters.map((one) => (
    <FieldAt
      key={one.parameter}
      at={[...at, "parameters", one.parameter]}
      label={one.parameter}
      placeholder={String(one.default)}
      help={`${one.about}; ${one.least} to ${one.highest}`}
      read={numberOr}
    />
  ));
}

function numberOr(text: string): Value {
  return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text.trim();
}

function nameOf(file: string, kept: readonly Recording[]): string {
  return kept.find((one) => one.reference === file)?.name ?? file;
}
