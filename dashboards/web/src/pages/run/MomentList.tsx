/** What happened in the part of a run that its charts show: a list, whose times zoom the charts. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { answered, api } from "../../api/client";
import type { Span } from "../../charts/span";
import type { Outline } from "../../data/runDocument";
import { ErrorNote } from "../../parts/ErrorNote";
import { Panel } from "../../parts/Panel";
import { count } from "../../units";
import styles from "./RunCharts.module.css";

const MOST = 200;
/** The round trips around a moment that a click shows. */
const AROUND = 8;
const KINDS: readonly (readonly [kind: string, name: string])[] = [
  ["", "every kind"],
  ["start", "flows begin"],
  ["stop", "flows stop"],
  ["change", "scheduled changes"],
  ["drop", "lost packets"],
  ["reduction", "reductions after marks"],
  ["recovery", "recoveries"],
  ["timeout", "timeouts"],
  ["open", "losses repaired"],
];

interface Props {
  run: string;
  outline: Outline;
  span: Span;
}

export function MomentList({ run, outline, span }: Props) {
  const [kind, setKind] = useState("");
  const [zoom, setZoom] = useState(span.zoom);
  useEffect(() => span.onSettled(() => setZoom(span.zoom)), [span]);
  const found = useQuery({
    queryKey: ["moments", run, kind, zoom?.join() ?? ""],
    queryFn: () =>
      answered(
        api.GET("/api/v1/runs/{id}/moments", {
          params: {
            path: { id: run },
            query: {
              limit: MOST,
              ...(kind === "" ? {} : { kind: [kind] }),
              ...(zoom === null ? {} : { from: Math.max(0, zoom[0]), to: Math.max(0, zoom[1]) }),
            },
          },
        }),
      ),
    placeholderData: (before) => before,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const around = (AROUND * outline.rtt_ms) / 1000;
  const total = found.data?.total ?? 0;
  return (
    <Panel
      title="Moments"
      actions={
        <select
          className={styles.switch}
          aria-label="Kind of moment"
          value={kind}
          onChange={(event) => setKind(event.target.value)}
        >
          {KINDS.map(([one, name]) => (
            <option key={one} value={one}>
              {name}
            </option>
          ))}
        </select>
      }
    >
      {found.error && <ErrorNote error={found.error} />}
      <p className={styles.momentCount} role="status">
        {zoom === null ? "In the whole run" : "In the shown part"}: {count(total)}
        {total > MOST && `, the first ${MOST} are listed`}
      </p>
      <ol className={styles.moments} aria-label="Moments">
        {(found.data?.moments ?? []).map((moment, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: many packets are lost at one instant
          <li key={at}>
            <button
              type="button"
              title="Show the charts around this moment"
              onClick={() => span.show([moment.t_s - around, moment.t_s + around])}
            >
              {moment.t_s.toFixed(6)} s
            </button>{" "}
            {moment.text}
          </li>
        ))}
      </ol>
    </Panel>
  );
}
