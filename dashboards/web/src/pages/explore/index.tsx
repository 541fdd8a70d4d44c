/** A sweep explored: parallel coordinates, importance of fields, scatter, bands of repeats, small multiples. `#/experiments/ID/explore`. */
import { isOver } from "../../data/runDocument";
import { linkTo } from "../../navigation/route";
import { among, list, useViewState } from "../../navigation/viewState";
import { LinkButton } from "../../parts/Button";
import { Empty } from "../../parts/Empty";
import { ErrorNote } from "../../parts/ErrorNote";
import { Segments } from "../../parts/Segments";
import { Waiting } from "../../parts/Waiting";
import type { PageProps } from "../props";
import { Bands } from "./Bands";
import styles from "./Explore.module.css";
import { Importance } from "./Importance";
import { MeasureSelect } from "./MeasureSelect";
import { Multiples } from "./Multiples";
import { Parallel } from "./Parallel";
import { useExperiment, useSweep } from "./queries";
import { Scatter } from "./Scatter";
import { fieldsOf, wordOf } from "./sweep";

const SHOWS = [
  ["parallel", "Parallel"],
  ["importance", "Importance"],
  ["scatter", "Scatter"],
  ["bands", "Bands"],
  ["multiples", "Multiples"],
] as const;

const VIEW = { show: among(SHOWS, "parallel"), of: list() };

export default function Explore({ path }: PageProps) {
  const id = path[0] ?? "";
  const [view, setView] = useViewState(VIEW);
  const experiment = useExperiment(id);
  // While it is running, more runs end.
  const version = JSON.stringify(experiment.data?.progress ?? null);
  const sweep = useSweep(id, view.of, version);
  if (experiment.error ?? sweep.error) return <ErrorNote error={experiment.error ?? sweep.error} />;
  if (experiment.data === undefined || sweep.data === undefined) {
    return <Waiting label="Reading the sweep" height="70vh" />;
  }
  const { data } = sweep;
  const of = data.of.map(wordOf);
  const fields = fieldsOf(data.points);
  const first = of[0] ?? "";
  const { name, status } = experiment.data;
  const flows = [...new Set(data.measures.flatMap(({ flow }) => flow ?? []))];
  const setOf = (words: readonly string[]): void => setView({ of: words });
  const known = data.points.filter(({ values }) => values.some((value) => value !== null));
  return (
    <div className="stack">
      <header className={styles.head}>
        <h1>Explore {name}</h1>
        <div className="strip">
          <Segments
            label="View"
            choices={SHOWS}
            value={view.show}
            onChange={(show) => setView({ show }, { push: true })}
          />
        </div>
        <LinkButton href={linkTo(["experiments", id])}>Experiment</LinkButton>
        {fields.length > 0 && <LinkButton href={linkTo(["compare"], `experiment=${id}&show=map`)}>Heat map</LinkButton>}
      </header>
      {!isOver(status) && <p>The experiment is {status}: the runs that have ended are shown.</p>}
      {known.length === 0 ? (
        <Empty title="Nothing to explore yet">
          <p>
            No run of <a href={linkTo(["experiments", id])}>{name}</a> has numbers yet.
          </p>
        </Empty>
      ) : fields.length === 0 && view.show !== "bands" ? (
        <Empty title="No sweep">
          <p>
            <a href={linkTo(["experiments", id])}>{name}</a> has one point. The bands of its repeats are under Bands.
          </p>
        </Empty>
      ) : (
        <>
          {(view.show === "parallel" || view.show === "importance") && (
            <div className={styles.controls}>
              <MeasureSelect
                label={view.show === "parallel" ? "Colour" : "Measure"}
                value={first}
                measures={data.measures}
                onChange={(word) => setOf([word, ...of.slice(1).filter((one) => one !== word)])}
              />
            </div>
          )}
          {view.show === "parallel" && <Parallel sweep={data} of={of} file={name} onOf={setOf} />}
          {view.show === "importance" && <Importance id={id} word={first} file={name} version={version} />}
          {view.show === "scatter" && <Scatter sweep={data} of={of} file={name} onOf={setOf} />}
          {view.show === "bands" && <Bands id={id} points={known} flows={flows} file={name} version={version} />}
          {view.show === "multiples" && (
            <Multiples id={id} points={known} fields={fields} flows={flows} file={name} version={version} />
          )}
        </>
      )}
    </div>
  );
}
