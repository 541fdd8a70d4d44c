/** What happened in the part of a run that its charts show: a list of any length, of which the rows in sight are loaded. The pointer of
 * the charts marks the nearest row, a row under the pointer moves theirs, and its time zooms them.
 */
import { useQueries } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { addressOf } from "../../api/address";
import { answered, api, type Schemas } from "../../api/client";
import type { Span } from "../../charts/span";
import type { Outline } from "../../data/runDocument";
import { LinkButton } from "../../parts/Button";
import { ErrorNote } from "../../parts/ErrorNote";
import { Panel } from "../../parts/Panel";
import { Select } from "../../parts/Select";
import { count } from "../../units";
import styles from "./MomentList.module.css";
import { nearestIn, PAGE, pagesOf, ROW_PX, rowsInSight } from "./momentRows";

/** The round trips around a moment that a click shows. */
const AROUND = 8;
/** The pointer of the charts rests so long before a row that is not loaded is looked for. */
const REST_MS = 150;
const HEIGHT_PX = 320;
const KINDS: readonly (readonly [kind: string, name: string])[] = [
  ["", "every kind"],
  ["start", "flows begin"],
  ["stop", "flows stop"],
  ["change", "scheduled changes"],
  ["drop", "lost packets"],
  ["mark", "marked packets (ECN)"],
  ["reduction", "reductions after marks"],
  ["recovery", "recoveries"],
  ["timeout", "timeouts"],
  ["open", "losses repaired"],
];

type Moments = Schemas["TraceMoments"];
type Moment = Moments["moments"][number];

interface Props {
  run: string;
  outline: Outline;
  span: Span;
}

export default function MomentList({ run, outline, span }: Props) {
  const [kind, setKind] = useState("");
  const [of, setOf] = useState("");
  const [zoom, setZoom] = useState(span.zoom);
  useEffect(() => span.onSettled(() => setZoom(span.zoom)), [span]);
  const asked = {
    ...(kind === "" ? {} : { kind: [kind] }),
    ...(of === "" ? {} : { of: [of] }),
    ...(zoom === null ? {} : { from: Math.max(0, zoom[0]), to: Math.max(0, zoom[1]) }),
  };
  const key = JSON.stringify(asked);
  const [sight, setSight] = useState({ from: 0, to: 40 });
  const pages = useQueries({
    queries: pagesOf(sight).map((page) => ({
      queryKey: ["moments", run, key, page],
      queryFn: () => read(run, { ...asked, skip: page * PAGE, limit: PAGE }),
      staleTime: Number.POSITIVE_INFINITY,
    })),
    combine: (found) => ({
      known: found.flatMap(({ data }) => (data ? [data] : [])),
      error: found.find(({ error }) => error)?.error ?? null,
    }),
  });
  // The number stays while the next page is loading.
  const [total, setTotal] = useState<number | null>(null);
  const counted = pages.known[0]?.total;
  useEffect(() => {
    if (counted !== undefined) setTotal(counted);
  }, [counted]);
  const list = useRef<HTMLOListElement>(null);
  const look = useCallback(() => {
    const top = list.current?.scrollTop ?? 0;
    setSight((now) => {
      const next = rowsInSight(top, HEIGHT_PX);
      return next.from === now.from && next.to === now.to ? now : next;
    });
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another list begins at its top
  useEffect(() => {
    list.current?.scrollTo({ top: 0 });
    look();
  }, [key, look]);
  const near = useNear(run, key, asked, span, list, pages.known);
  const around = (AROUND * outline.rtt_ms) / 1000;
  const places = [...new Set([...outline.flows, ...outline.links].map(({ name }) => name))];
  const rows = Math.min(sight.to, total ?? 0);
  const csv = new URLSearchParams([
    ["format", "csv"],
    ...Object.entries(asked).map(([name, value]): [string, string] => [name, String(value)]),
  ]);
  const point = (moment: Moment | undefined): void => {
    const [from, to] = span.shown;
    if (moment !== undefined && moment.t_s >= from && moment.t_s <= to) span.point((moment.t_s - from) / (to - from));
  };
  return (
    <Panel
      title="Moments"
      actions={
        <>
          <Select
            className={styles.choice}
            aria-label="Kind of moment"
            value={kind}
            choices={KINDS}
            onChange={setKind}
          />
          <Select
            className={styles.choice}
            aria-label="Flow or link of moments"
            value={of}
            choices={[["", "every flow and link"], ...places]}
            onChange={setOf}
          />
          <LinkButton href={addressOf(`/api/v1/runs/${run}/moments?${csv}`)}>CSV</LinkButton>
        </>
      }
    >
      {pages.error && <ErrorNote error={pages.error} />}
      <p className={styles.count} role="status">
        {zoom === null ? "In the whole run" : "In the shown part"}: {total === null ? "…" : count(total)}
      </p>
      <ol
        ref={list}
        className={styles.list}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and its buttons are not there while rows load
        tabIndex={0}
        aria-label="Moments"
        onScroll={look}
        onMouseLeave={() => span.point(null)}
        style={{ height: Math.min(HEIGHT_PX, Math.max(1, total ?? 12) * ROW_PX) }}
      >
        <li aria-hidden="true" style={{ height: sight.from * ROW_PX }} />
        {Array.from({ length: Math.max(0, rows - sight.from) }, (_, at) => sight.from + at).map((place) => {
          const moment = momentAt(pages.known, place);
          return (
            <li
              key={place}
              className={styles.row}
              aria-setsize={total ?? -1}
              aria-posinset={place + 1}
              aria-current={place === near || undefined}
              title={moment?.text}
              onMouseEnter={() => point(moment)}
            >
              {moment === undefined ? (
                "…"
              ) : (
                <>
                  <button
                    type="button"
                    title="Show the charts around this moment"
                    onFocus={() => point(moment)}
                    onBlur={() => span.point(null)}
                    onClick={() => span.show([moment.t_s - around, moment.t_s + around])}
                  >
                    {moment.t_s.toFixed(6)} s
                  </button>{" "}
                  {moment.text}
                </>
              )}
            </li>
          );
        })}
        <li aria-hidden="true" style={{ height: Math.max(0, (total ?? 0) - rows) * ROW_PX }} />
      </ol>
    </Panel>
  );
}

function read(run: string, query: { skip?: number; limit: number; near?: number }): Promise<Moments> {
  // Without `format`, it is JSON.
  return answered(api.GET("/api/v1/runs/{id}/moments", { params: { path: { id: run }, query } })) as Promise<Moments>;
}

function momentAt(pages: readonly Moments[], place: number): Moment | undefined {
  const page = pages.find(({ skipped, moments }) => place >= skipped && place < skipped + moments.length);
  return page?.moments[place - page.skipped];
}

/** The row nearest to the pointer of the charts, scrolled into sight unless the pointer is in the list; null without a pointer. */
function useNear(
  run: string,
  key: string,
  asked: object,
  span: Span,
  list: { current: HTMLOListElement | null },
  known: readonly Moments[],
): number | null {
  const [near, setNear] = useState<number | null>(null);
  const latest = useRef({ known, asked });
  latest.current = { known, asked };
  // biome-ignore lint/correctness/useExhaustiveDependencies: another list has other rows
  useEffect(() => {
    let [timer, turn] = [0, 0];
    const show = (place: number | null): void => {
      setNear(place);
      const element = list.current;
      if (place === null || element === null || element.matches(":hover, :focus-within")) return;
      const top = place * ROW_PX;
      if (top < element.scrollTop || top + ROW_PX > element.scrollTop + element.clientHeight) {
        element.scrollTo({ top: top - element.clientHeight / 2 });
      }
    };
    const unsubscribe = span.onPoint(() => {
      window.clearTimeout(timer);
      const time = span.cursor;
      turn++;
      if (time === null || span.moving) return setNear(null);
      const found = nearestIn(latest.current.known, time);
      if (found !== null) return show(found);
      const mine = turn;
      timer = window.setTimeout(async () => {
        const one = await read(run, { ...latest.current.asked, near: Math.max(0, time), limit: 1 }).catch(() => null);
        if (mine === turn && one !== null && one.total > 0) show(one.skipped);
      }, REST_MS);
    });
    return () => {
      window.clearTimeout(timer);
      turn++;
      unsubscribe();
      setNear(null);
    };
  }, [run, key, span, list]);
  return near;
}
