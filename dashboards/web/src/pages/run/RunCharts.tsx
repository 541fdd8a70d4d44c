/** The charts of one run, on one time axis, with tools for all of them. */
import { useEffect, useMemo } from "react";
import { Chart } from "../../charts/Chart";
import { QUANTITIES } from "../../charts/quantities";
import type { Source } from "../../charts/source";
import type { Span } from "../../charts/span";
import type { Outline } from "../../data/runDocument";
import { useShortcut } from "../../navigation/shortcuts";
import { flag, list, range, useViewState } from "../../navigation/viewState";
import { useTheme } from "../../theme/theme";
import { Key } from "./Key";
import { dropsOf, linesOf, marksOf, PANELS, shadedOf, shadeOf } from "./panels";
import { Tools } from "./Tools";

export const CHARTS_VIEW = { flows: list(), at: range(), log: flag(), dashes: flag() };

interface Props {
  run: string;
  outline: Outline;
  source: Source;
  span: Span;
}

export function RunCharts({ run, outline, source, span }: Props) {
  const theme = useTheme();
  const [view, setView] = useViewState(CHARTS_VIEW);
  const [from, to] = view.at ?? [null, null];
  useEffect(() => {
    const now = span.zoom;
    if (now?.[0] !== (from ?? undefined) || now?.[1] !== (to ?? undefined))
      span.show(from === null || to === null ? null : [from, to]);
  }, [span, from, to]);
  useEffect(() => span.onSettled(() => setView({ at: rounded(span.zoom) })), [span, setView]);
  const names = view.flows.join("\n");
  const shown = useMemo(
    () => new Set(names === "" ? outline.flows.map((flow) => flow.name) : names.split("\n")),
    [names, outline],
  );
  const charts = useMemo(() => {
    const [marks, shaded, shade] = [marksOf(outline, shown, theme), shadedOf(outline), shadeOf(outline)];
    return PANELS.map((panel) => ({
      panel,
      lines: linesOf(panel, outline, source, shown, theme, view.dashes),
      ...(panel.measure === "queue" ? { rug: dropsOf(source, outline.links[0]?.name ?? "") } : {}),
      marks,
      shaded,
      shade,
      log: view.log && panel.log,
      ...(panel.clip ? { clip: panel.clip } : {}),
    }));
  }, [outline, source, shown, theme, view.dashes, view.log]);
  useShortcut("+", "Zoom in", () => span.scale(0.5));
  useShortcut("-", "Zoom out", () => span.scale(2));
  useShortcut("ArrowLeft", "Earlier", () => span.move(-0.25));
  useShortcut("ArrowRight", "Later", () => span.move(0.25));
  useShortcut("0", "Show the whole run", () => span.show(null));
  useShortcut("l", "Logarithmic axes on or off", () => setView({ log: !view.log }));
  useShortcut("d", "Dashes on or off", () => setView({ dashes: !view.dashes }));
  return (
    <>
      <Tools outline={outline} span={span} shown={shown} view={view} onView={setView} />
      <Key charts={charts} span={span} source={source} />
      <div className="charts">
        {charts.map(({ panel, ...drawn }) => (
          <Chart
            key={panel.measure}
            title={QUANTITIES[panel.measure].name}
            file={`${run}-${panel.measure}`}
            y={QUANTITIES[panel.measure]}
            span={span}
            onMore={source.onMore}
            {...drawn}
          />
        ))}
      </div>
    </>
  );
}

/** Rounded to a ten-thousandth of the window, to keep the address short. */
function rounded(window: readonly [number, number] | null): readonly [number, number] | null {
  if (window === null) return null;
  const decimals = Math.max(0, Math.ceil(4 - Math.log10(window[1] - window[0])));
  return [Number(window[0].toFixed(decimals)), Number(window[1].toFixed(decimals))];
}
