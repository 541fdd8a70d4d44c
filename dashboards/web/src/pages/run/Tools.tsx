/** Tools for all charts of a run: which flows are drawn and how, and which part of the run. */
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
              title={`Show or hide ${flow.name}; with Shift, only ${flow.name}`}
              onClick={(event) => toggle(flow.name, event.shiftKey)}
            >
              <svg width="18" height="4" aria-hidden="true" className={styles.stroke}>
                <path d="M0 2h18" stroke={style.variable} strokeWidth="2.5" strokeDasharray={style.dash.join(" ")} />
              </svg>
              {flow.name}
              <span className="faint">{flow.cc === flow.name ? "" : (flow.cc ?? flow.kind)}</span>
            </button>
          );
        })}
      </fieldset>
      <div className="row">
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

/** The part of the run that is shown, and the button for all of it. Written without React, because a pan changes it with every frame. */
function ShownWindow({ span }: { span: Span }) {
  const text = useRef<HTMLSpanElement>(null);
  const all = useRef<HTMLButtonElement>(null);
  // Before the first paint: the text takes space, and would move what is below it.
  useLayoutEffect(() => {
    const write = (): void => {
      const [from, to] = span.shown;
      if (text.current !== null)
        text.current.textContent = span.zoom === null ? hint : `${seconds(from, to)} – ${seconds(to, to)} s`;
      if (all.current !== null) all.current.disabled = span.zoom === null;
    };
    write();
    return span.onDraw(write);
  }, [span]);
  return (
    <>
      <span ref={text} className={styles.window} />
      <button ref={all} type="button" className={styles.switch} onClick={() => span.show(null)}>
        Whole run
      </button>
    </>
  );
}

const hint = window.matchMedia("(pointer: coarse)").matches
  ? "two fingers zoom, one pans"
  : "drag to zoom, Shift-drag to pan";

function seconds(value: number, largest: number): string {
  return digits(value, largest >= 100 ? 6 : 5);
}
