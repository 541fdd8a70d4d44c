/** Differences of two runs or two experiments, measure by measure, with intervals and verdicts. */
import { useQuery } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import { measureText, measureValue } from "../../data/measures";
import { pointText } from "../../data/runDocument";
import { flag, oneOf, text, useViewState } from "../../navigation/viewState";
import { Badge, type Tone } from "../../parts/Badge";
import { ErrorNote } from "../../parts/ErrorNote";
import { Panel } from "../../parts/Panel";
import { LabelledSelect } from "../../parts/Select";
import { type Column, Table } from "../../parts/Table";
import { Waiting } from "../../parts/Waiting";
import { digits } from "../../units";
import styles from "./Compare.module.css";
import type { Differing } from "./conditions";
import { FirstRecord } from "./FirstRecord";
import { Forest } from "./Forest";
import { InputDifferences } from "./InputDifferences";
import { type Compared, useExperiments } from "./useCompared";

const EFFECTS = ["0.5 %", "1 %", "2 %", "5 %", "10 %"] as const;
const VIEW = { a: text(), b: text(), least: oneOf(EFFECTS, "2 %"), all: flag() };

interface Row {
  point: Record<string, string>;
  phase: string | null;
  flow: string | null;
  measure: string;
  n: number;
  a: number | null;
  b: number | null;
  effect: number | null;
  effect_low: number | null;
  effect_high: number | null;
  verdict: string;
  seeds: number | null;
}

const TONES: Record<string, Tone> = { better: "good", worse: "bad", changed: "busy", missing: "bad", unclear: "warn" };
const EXPERIMENT_ID = 16;
const RUN_ID = 20;
const QUIET = new Set(["same", "no difference"]);

export function Differences({ runs, compared }: { runs: readonly string[]; compared: Compared }) {
  const [view, setView] = useViewState(VIEW);
  const choices: [string, string][] = [
    ...compared.runs.map(({ id, name }): [string, string] => [id, name]),
    ...useExperiments().map(([id, name]): [string, string] => [id, `experiment ${name}`]),
  ];
  const a = view.a || (runs[0] ?? "");
  const b = view.b || (runs[1] ?? "");
  const found = useQuery({
    queryKey: ["comparison", a, b, view.least],
    enabled: a !== "" && b !== "",
    staleTime: 60_000,
    queryFn: () => answered(api.GET("/api/v1/comparisons", { params: { query: { a, b, min_effect: view.least } } })),
  });
  const rows = ((found.data?.measures ?? []) as Row[]).filter((row) => view.all || !QUIET.has(row.verdict));
  const largest = Math.max(0.01, ...rows.map((row) => Math.min(1, Math.abs(row.effect ?? 0))));
  // Two runs are one pair, even if their points differ.
  const hasPoints =
    a.length === b.length && a.length === EXPERIMENT_ID && rows.some((row) => Object.keys(row.point).length > 0);
  const columns: Column<Row>[] = [
    ...(hasPoints
      ? [
          {
            key: "point",
            name: "Point",
            cell: (row: Row) => pointText(row.point),
            by: (row: Row) => pointText(row.point),
          },
        ]
      : []),
    { key: "flow", name: "Flow", cell: (row) => row.flow ?? "path", by: (row) => row.flow },
    { key: "measure", name: "Measure", cell: (row) => measureText(row.measure), by: (row) => row.measure },
    { key: "a", name: "A", number: true, cell: (row) => measureValue(row.measure, row.a), by: (row) => row.a },
    { key: "b", name: "B", number: true, cell: (row) => measureValue(row.measure, row.b), by: (row) => row.b },
    { key: "effect", name: "Change", number: true, cell: (row) => percent(row.effect), by: (row) => row.effect },
    {
      key: "interval",
      name: "95 % interval",
      cell: (row) =>
        row.effect_low === null ? (
          "–"
        ) : (
          <Forest
            effect={row.effect}
            low={row.effect_low}
            high={row.effect_high}
            most={largest}
            label={intervalText(row)}
          />
        ),
    },
    { key: "n", name: "Pairs", number: true, cell: (row) => String(row.n), by: (row) => row.n },
    {
      key: "verdict",
      name: "Verdict",
      cell: (row) => <Badge tone={TONES[row.verdict] ?? "neutral"}>{verdictText(row)}</Badge>,
      by: (row) => row.verdict,
    },
  ];
  return (
    <Panel title="Differences">
      <div className={styles.sides}>
        <Side label="A" value={a} choices={choices} onChange={(id) => setView({ a: id })} />
        <Side label="B" value={b} choices={choices} onChange={(id) => setView({ b: id })} />
        <LabelledSelect
          label="Minimum effect"
          value={view.least}
          choices={EFFECTS}
          onChange={(least) => setView({ least })}
        />
        <label>
          <input type="checkbox" checked={view.all} onChange={(event) => setView({ all: event.target.checked })} /> Show
          measures without a difference
        </label>
      </div>
      {a === "" || b === "" ? (
        <p className="faint">Choose two runs, or two experiments with the same points.</p>
      ) : found.error ? (
        <ErrorNote error={found.error} />
      ) : found.data === undefined ? (
        <Waiting label="Comparing" height="20rem" />
      ) : (
        <>
          <InputDifferences differing={differingOf(found.data)} />
          <p className="soft">{String(found.data.verdict)}</p>
          {a.length === RUN_ID && b.length === RUN_ID && !found.data.identical && (
            <FirstRecord key={a + b} a={a} b={b} />
          )}
          <Table
            label="Differences"
            columns={columns}
            rows={rows}
            rowKey={(row) => `${JSON.stringify(row.point)} ${row.phase} ${row.flow} ${row.measure}`}
          />
        </>
      )}
    </Panel>
  );
}

interface SideProps {
  label: string;
  value: string;
  choices: readonly [string, string][];
  onChange: (id: string) => void;
}

function Side({ choices, ...more }: SideProps) {
  const { value } = more;
  const all = choices.some(([id]) => id === value) ? choices : [[value, value || "choose"] as const, ...choices];
  return <LabelledSelect className={styles.side} choices={all} {...more} />;
}

/** The fields in which the service found the plans to differ; some have no values. */
function differingOf(comparison: Readonly<Record<string, unknown>>): Differing[] {
  const differs = (comparison.differs ?? []) as { field: string; a: string; b: string }[];
  return differs.map(({ field, a, b }) => ({
    field: field.replace(/^(flows|path)\./, ""),
    values: a || b ? [a, b] : [],
  }));
}

function verdictText({ verdict, seeds }: Row): string {
  if (verdict === "no verdict") return "1 pair: no interval, no verdict";
  return verdict === "unclear" && seeds ? `unclear, about ${seeds} seeds` : verdict;
}

function percent(effect: number | null): string {
  return effect === null ? "–" : `${effect > 0 ? "+" : effect < 0 ? "−" : ""}${digits(Math.abs(effect) * 100, 3)} %`;
}

function intervalText({ effect_low, effect_high }: Row): string {
  return effect_low === null ? "a single pair has no interval" : `${percent(effect_low)} to ${percent(effect_high)}`;
}
