/** A sweep as a heat map: two swept fields across and down, a measure as colour; a click on a cell lists its runs. */
import { useQuery } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import { SaveButtons } from "../../charts/Tools";
import { firstOf, measureText } from "../../data/measures";
import { linkTo } from "../../navigation/route";
import { flag, text, useViewState } from "../../navigation/viewState";
import { LinkButton } from "../../parts/Button";
import { Empty } from "../../parts/Empty";
import { ErrorNote } from "../../parts/ErrorNote";
import { Panel } from "../../parts/Panel";
import { LabelledSelect } from "../../parts/Select";
import { Waiting } from "../../parts/Waiting";
import { CellRuns } from "./CellRuns";
import styles from "./Compare.module.css";
import { HeatGrid } from "./HeatGrid";
import { heatOf, notesOn } from "./heat";
import { saveMap } from "./mapFile";

const VIEW = { x: text(), y: text(), of: text(), cell: text(), log: flag() };

export function SweepMap({ experiment }: { experiment: string }) {
  const [view, setView] = useViewState(VIEW);
  const about = useQuery({
    queryKey: ["experiment", experiment],
    queryFn: () => answered(api.GET("/api/v1/experiments/{id}", { params: { path: { id: experiment } } })),
  });
  const [measure = "", flow = ""] = view.of.split("@");
  const found = useQuery({
    queryKey: ["values", experiment, measure, flow],
    placeholderData: (before) => before,
    queryFn: async () => {
      const path = { id: experiment };
      const first = await answered(
        api.GET("/api/v1/experiments/{id}/values", { params: { path, query: measure ? { measure, flow } : {} } }),
      );
      const chosen = measure ? undefined : firstOf(first.measures);
      if (chosen === undefined) return first;
      const query = { measure: chosen.measure, ...(chosen.flow ? { flow: chosen.flow } : {}) };
      return answered(api.GET("/api/v1/experiments/{id}/values", { params: { path, query } }));
    },
  });
  if (found.error ?? about.error) return <ErrorNote error={found.error ?? about.error} />;
  if (found.data === undefined || about.data === undefined) return <Waiting label="Reading the sweep" height="30rem" />;
  const { values } = found.data;
  const swept = [...new Set(values.flatMap(({ point }) => Object.keys(point)))];
  const x = swept.includes(view.x) ? view.x : (swept[1] ?? swept[0] ?? "");
  const y = swept.includes(view.y) && view.y !== x ? view.y : (swept.find((path) => path !== x) ?? "");
  if (x === "") {
    return (
      <Empty title="No sweep">
        <p>
          <a href={linkTo(["experiments", experiment])}>{about.data.name}</a> has one point. A heat map needs an
          experiment with a sweep.
        </p>
      </Empty>
    );
  }
  const heat = heatOf(values, x, y, view.log);
  const now = { measure: found.data.measure, flow: found.data.flow ?? "" };
  const title = nameOf(now);
  const { name, notes } = about.data;
  const map = { heat, x, y, measure: now.measure, title, notes };
  const [column = "", row = ""] = view.cell.split("|");
  const cell = heat.cells[heat.rows.indexOf(row)]?.[heat.columns.indexOf(column)];
  return (
    <Panel
      title={`${name}: ${title}`}
      actions={
        <>
          <SaveButtons onSave={(form) => void saveMap(form, `${name}-${now.measure}`, map)} />
          <LinkButton href={linkTo(["experiments", experiment, "explore"])}>Explore</LinkButton>
          <LinkButton href={linkTo(["experiments", experiment])}>Experiment</LinkButton>
        </>
      }
    >
      <div className={styles.controls}>
        <LabelledSelect
          label="Colour"
          value={`${now.measure}@${now.flow}`}
          choices={found.data.measures.map((one) => [`${one.measure}@${one.flow ?? ""}`, nameOf(one)] as const)}
          onChange={(of) => setView({ of })}
        />
        <LabelledSelect
          label="Across"
          value={x}
          choices={swept}
          onChange={(path) => setView({ x: path, y: path === y ? x : y, cell: "" })}
        />
        {swept.length > 1 && (
          <LabelledSelect
            label="Down"
            value={y}
            choices={swept}
            onChange={(path) => setView({ y: path, x: path === x ? y : x, cell: "" })}
          />
        )}
        {(heat.isLog || heat.least > 0) && (
          <label>
            <input type="checkbox" checked={view.log} onChange={(event) => setView({ log: event.target.checked })} />{" "}
            Log scale
          </label>
        )}
        <a href={linkTo(["compare"], "show=map")}>Another sweep</a>
      </div>
      <HeatGrid {...map} chosen={view.cell} onChoose={(key) => setView({ cell: key === view.cell ? "" : key })} />
      {cell !== undefined && view.cell !== "" && (
        <div className={styles.below}>
          <CellRuns cell={cell} measure={now.measure} notes={notesOn(cell, notes)} />
        </div>
      )}
    </Panel>
  );
}

function nameOf({ measure, flow }: { measure: string; flow: string | null }): string {
  return `${measureText(measure)}${flow ? ` of ${flow}` : ""}`;
}
