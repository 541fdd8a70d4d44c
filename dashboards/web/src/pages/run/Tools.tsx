/** Which flows are drawn, how, and which part of the run: for all of its charts. */
import { useLayoutEffect, useRef } from "react";
import type { Span } from "../../charts/span";
import type { Outline } from "../../data/runDocument";
import { flowStyle } from "../../theme/palette";
import { useTheme } from "../../theme/theme";
import { digits } from "../../units";
import styles from "./RunCharts.module.css";

interface View {
  flows: readonly string[];
  log: boolean;
  dashes: boolean;
}

interface Props {
  outline: Outline;
  span: Span;
  shown: ReadonlySet<string>;
  view: View;
  onView: (change: Partial<View>) => void;
}

export function Tools({ outline, span, shown, view, onView }: Props) {
  const theme = useTheme();
  const toggle = (name: string, alone: boolean): void => {
    const all = outline.flows.map((flow) => flow.name);
    const isAlone = shown.size === 1 && shown.has(name);
    const next = alone ? (isAlone ? all : [name]) : all.filter((one) => shown.has(one) !== (one === name));
    onView({ flows: next.length === all.length || next.length === 0 ? [] : next });
  };
  return (
    <div className={styles.tools}>
      <fieldset className={styles.flows} aria-label="Flows">
        {outline.flows.map((flow, place) => {
          const style = flowStyle(place, theme, view.dashes);
          return (
            <button
              key={flow.name}
              type="button"
              className={styles.flow}
              aria-pressed={shown.has(flow.name)}
              title={`Show or hide ${flow.name}; with Shift, it alone`}
              onClick={(event) => toggle(flow.name, event.shiftKey)}
            >
              <svg width="18" height="4" aria-hidden="true" className={styles.stroke}>
                <path d="M0 2h18" stroke={style.variable} strokeWidth="2.5" strokeDasharray={style.dash.join(" ")} />
              </svg>
              {flow.name}
              <span className={styles.cc}>{flow.cc === flow.name ? "" : (flow.cc ?? flow.kind)}</span>
            </button>
          );
        })}
      </fieldset>
      <div className={styles.switches}>
        <ShownWindow span={span} />
        <button type="button" className={styles.switch} aria-label="Zoom out" onClick={() => span.scale(2)}>
          −
        </button>
        <button type="button" className={styles.switch} aria-label="Zoom in" onClick={() => span.scale(0.5)}>
          +
        </button>
        <button
          type="button"
          className={styles.switch}
          aria-pressed={view.log}
          onClick={() => onView({ log: !view.log })}
        >
          Log
        </button>
        <button
          type="button"
          className={styles.switch}
          aria-pressed={view.dashes}
          onClick={() => onView({ dashes: !view.dashes })}
        >
          Dashes
        </button>
      </div>
    </div>
  );
}

/** Which part of the run is shown, and the way back to all of it. Written without React: it changes with every frame of a pan. */
function ShownWindow({ span }: { span: Span }) {
  const words = useRef<HTMLSpanElement>(null);
  const all = useRef<HTMLButtonElement>(null);
  // Before the first picture: the words take room, and what is below would move for them.
  useLayoutEffect(() => {
    const write = (): void => {
      const [from, to] = span.shown;
      if (words.current !== null)
        words.current.textContent = span.zoom === null ? hint : `${seconds(from, to)} – ${seconds(to, to)} s`;
      if (all.current !== null) all.current.disabled = span.zoom === null;
    };
    write();
    return span.onDraw(write);
  }, [span]);
  return (
    <>
      <span ref={words} className={styles.window} />
      <button ref={all} type="button" className={styles.switch} onClick={() => span.show(null)}>
        Whole run
      </button>
    </>
  );
}

const hint = window.matchMedia("(pointer: coarse)").matches
  ? "two fingers zoom, one moves along"
  : "drag to zoom, Shift-drag to pan";

function seconds(value: number, largest: number): string {
  return digits(value, largest >= 100 ? 6 : 5);
}
