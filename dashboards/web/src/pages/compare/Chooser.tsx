/** The compared runs with their colours, and a list to add more. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api } from "../../api/client";
import { pointText } from "../../data/runDocument";
import { linkTo } from "../../navigation/route";
import { Button } from "../../parts/Button";
import { ErrorNote } from "../../parts/ErrorNote";
import { LabelledSelect } from "../../parts/Select";
import { flowStyle } from "../../theme/palette";
import { useTheme } from "../../theme/theme";
import { ago } from "../../units";
import styles from "./Chooser.module.css";
import { type Drawn, MOST_RUNS } from "./drawn";
import { Leaf } from "./Leaf";
import { type Compared, useExperiments } from "./useCompared";

interface Props {
  runs: readonly string[];
  drawn: Drawn;
  experiment: string;
  compared: Compared;
  onView: (
    change: { runs?: readonly string[]; from?: number; experiment?: string },
    options?: { push?: boolean },
  ) => void;
}

const SHOWN = 10;

export function Chooser({ runs, drawn, experiment, compared, onView }: Props) {
  const theme = useTheme();
  const [adding, setAdding] = useState(runs.length < 2);
  const known = new Set([...compared.runs, ...compared.failed].map(({ id }) => id));
  const loading = drawn.ids.filter((id) => !known.has(id));
  const without = (id: string): void => onView({ runs: runs.filter((one) => one !== id) });
  return (
    <section className="pile" aria-label="Compared runs">
      <ul className={styles.chips}>
        {compared.runs.map(({ id, name }, place) => (
          <li key={id} className={styles.chip}>
            <span className={styles.colour} style={{ background: flowStyle(place, theme).variable }} />
            <a href={linkTo(["runs", id])}>{name}</a>
            <button type="button" aria-label={`Remove ${name}`} onClick={() => without(id)}>
              ×
            </button>
          </li>
        ))}
        {loading.map((id) => (
          <li key={id} className={`${styles.chip} faint`}>
            <span className={styles.colour} />
            {id.slice(0, 8)}
          </li>
        ))}
        <li>
          <Button kind="quiet" aria-expanded={adding} onClick={() => setAdding(!adding)}>
            {adding ? "Done" : "Add runs"}
          </Button>
        </li>
      </ul>
      {compared.failed.map(({ id, error }) => (
        <ErrorNote
          key={id}
          error={error}
          action={<Button onClick={() => without(id)}>Remove {id.slice(0, 8)}</Button>}
        />
      ))}
      {runs.length > MOST_RUNS && (
        <Leaf
          all={runs.length}
          drawn={drawn}
          onLeaf={(from) => onView({ from }, { push: true })}
          onAnew={() => {
            onView({ runs: [], from: 0 }, { push: true });
            setAdding(true);
          }}
        />
      )}
      {adding && <Adding runs={runs} experiment={experiment} onView={onView} />}
    </section>
  );
}

/** Kept runs, of one experiment or all, the newest first, with a search. */
function Adding({ runs, experiment, onView }: Omit<Props, "drawn" | "compared">) {
  const [word, setWord] = useState("");
  const experiments = useExperiments();
  const found = useQuery({
    queryKey: ["runs", "to compare", experiment],
    queryFn: () =>
      answered(
        api.GET("/api/v1/runs", {
          params: { query: { limit: experiment ? 500 : 100, ...(experiment ? { experiment_id: experiment } : {}) } },
        }),
      ),
  });
  const words = word.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = (found.data?.items ?? [])
    .filter((row) => (row.status === "done" || row.status === "missed") && row.trace_sha256 !== null)
    .map((row) => ({ row, text: `${row.experiment} ${pointText(row.point)} seed ${row.seed} ${row.id}`.toLowerCase() }))
    .filter(({ text }) => words.every((one) => text.includes(one)));
  const toggle = (id: string): void =>
    onView({ runs: runs.includes(id) ? runs.filter((one) => one !== id) : [...runs, id] });
  const full = runs.length >= MOST_RUNS;
  return (
    <div className={styles.adding}>
      <div className={styles.filters}>
        <LabelledSelect
          label="Experiment"
          value={experiment}
          choices={[["", "any"], ...experiments]}
          onChange={(id) => onView({ experiment: id })}
        />
        <label>
          Search{" "}
          <input
            type="search"
            value={word}
            placeholder="cubic, seed 2"
            onChange={(event) => setWord(event.target.value)}
          />
        </label>
        <span className="faint">
          {rows.length} kept runs{full && `; at most ${MOST_RUNS} are drawn: remove one to add another`}
        </span>
      </div>
      {found.error && <ErrorNote error={found.error} />}
      {found.data !== undefined && rows.length === 0 && word === "" && (
        <p>
          {experiment ? "This experiment" : "This lab"} has no kept runs yet.{" "}
          <a href={linkTo(["launch"])}>Launch an experiment</a>
        </p>
      )}
      <ul className={styles.list}>
        {rows.slice(0, SHOWN).map(({ row }) => (
          <li key={row.id}>
            <label className={styles.row}>
              <input
                type="checkbox"
                checked={runs.includes(row.id)}
                disabled={full && !runs.includes(row.id)}
                onChange={() => toggle(row.id)}
              />
              <span>{row.experiment}</span>
              <span>{pointText(row.point)}</span>
              <span className="faint">seed {row.seed}</span>
              <span className="faint">{ago(row.finished_at)}</span>
            </label>
          </li>
        ))}
      </ul>
    </div>
  );
}
