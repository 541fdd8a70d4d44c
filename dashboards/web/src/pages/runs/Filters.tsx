/** Search and filters: the search field and the common filters; "More" opens the others. */
import { useEffect, useId, useRef, useState } from "react";
import type { Schemas } from "../../api/client";
import { useCatalogue } from "../../api/queries";
import { useSession } from "../../api/session";
import { isFiltered, NOTHING, narrowed, SELDOM, STATUSES, type View } from "../../data/runList";
import { useLatest } from "../../hooks";
import { linkTo } from "../../navigation/hash";
import { useShortcut } from "../../navigation/shortcuts";
import { Button } from "../../parts/Button";
import { Segments } from "../../parts/Segments";
import { LabelledSelect } from "../../parts/Select";
import styles from "./Filters.module.css";

// A filter takes effect when typing pauses.
const PAUSE_MS = 180;

interface Props {
  view: View;
  change: (change: Partial<View>) => void;
}

export function Filters({ view, change: changeAll }: Props) {
  const change = (wanted: Partial<View>): void => changeAll(narrowed(wanted));
  const search = useRef<HTMLInputElement>(null);
  const [more, setMore] = useState(SELDOM.some((name) => view[name] !== ""));
  const hidden = SELDOM.filter((name) => view[name] !== "").length;
  const moreId = useId();
  useShortcut("/", "Search", () => search.current?.focus());
  return (
    <search className={styles.filters}>
      <div className={styles.row}>
        <Segments
          label="List"
          choices={[
            ["runs", "Runs"],
            ["experiments", "Experiments"],
          ]}
          value={view.what}
          onChange={(what) => change({ what })}
        />
        <Words refers={search} value={view.q} onChange={(q) => change({ q })} />
        <Choice label="Status" value={view.status} words={STATUSES} onChange={(status) => change({ status })} />
        <Controls value={view.cc} onChange={(cc) => change({ cc })} />
        {view.what === "runs" && (
          <label className={styles.check}>
            <input
              type="checkbox"
              checked={view.pinned}
              onChange={(event) => change({ pinned: event.target.checked })}
            />
            Pinned
          </label>
        )}
        <Button kind="quiet" aria-expanded={more} aria-controls={moreId} onClick={() => setMore(!more)}>
          More{hidden > 0 && ` (${hidden})`}
        </Button>
        {isFiltered(view) && (
          <Button kind="quiet" onClick={() => change(NOTHING)}>
            Clear
          </Button>
        )}
      </div>
      <div id={moreId} className={styles.row} hidden={!more}>
        <Backends value={view.backend} onChange={(backend) => change({ backend })} />
        <Owner value={view.owner} onChange={(owner) => change({ owner })} />
        <Typed label="From" type="date" value={view.from} onChange={(from) => change({ from })} />
        <Typed label="Before" type="date" value={view.to} onChange={(to) => change({ to })} />
        {view.what === "runs" && (
          <>
            <Typed label="RTT" placeholder="300 ms" value={view.rtt} onChange={(rtt) => change({ rtt })} />
            <Typed
              label="Bandwidth"
              placeholder="622 Mbit/s"
              value={view.bandwidth}
              onChange={(bandwidth) => change({ bandwidth })}
            />
            <Typed
              label="Topology"
              placeholder="dumbbell"
              value={view.topology}
              onChange={(topology) => change({ topology })}
            />
          </>
        )}
      </div>
      {(view.of || view.name) && (
        <p className={styles.of}>
          Of{" "}
          {view.of ? <a href={linkTo(["experiments", view.of])}>experiment {view.of}</a> : <strong>{view.name}</strong>}
          <Button kind="quiet" onClick={() => change({ of: "", name: "" })}>
            Show all
          </Button>
        </p>
      )}
    </search>
  );
}

/** A text that takes effect when typing pauses, and follows the address. */
function useTyped(value: string, onChange: (value: string) => void): [string, (value: string) => void, () => void] {
  const [typed, setTyped] = useState(value);
  const latest = useLatest(onChange);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return;
    const timer = window.setTimeout(() => latest.current(typed), PAUSE_MS);
    return () => window.clearTimeout(timer);
  }, [typed, value, latest]);
  return [typed, setTyped, () => latest.current(typed)];
}

interface WordsProps {
  refers: React.RefObject<HTMLInputElement | null>;
  value: string;
  onChange: (value: string) => void;
}

function Words({ refers, value, onChange }: WordsProps) {
  const [typed, setTyped, now] = useTyped(value, onChange);
  return (
    <input
      ref={refers}
      type="search"
      className={styles.words}
      aria-label="Search"
      placeholder="Search: name, id, 300ms, cc=bbr …"
      spellCheck={false}
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== "Escape") return;
        now();
        event.currentTarget.blur();
      }}
    />
  );
}

interface TypedProps {
  label: string;
  type?: "text" | "date";
  placeholder?: string;
  value: string;
  onChange: (value: string) => void;
}

function Typed({ label, type = "text", placeholder, value, onChange }: TypedProps) {
  const [typed, setTyped] = useTyped(value, onChange);
  return (
    <label className={styles.labelled}>
      {label}
      <input
        type={type}
        spellCheck={false}
        placeholder={placeholder}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
    </label>
  );
}

function Owner({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const session = useSession();
  const mine = session.kind === "in" ? session.name : "";
  return (
    <>
      <Typed label="Owner" placeholder="any" value={value} onChange={onChange} />
      {mine !== "" && value !== mine && (
        <Button kind="quiet" onClick={() => onChange(mine)}>
          Mine
        </Button>
      )}
    </>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  words: readonly string[];
  onChange: (value: string) => void;
}

function Choice({ label, value, words, onChange }: ChoiceProps) {
  const unknown = value === "" || words.includes(value) ? [] : [[value, `${value} (unknown)`] as const];
  return (
    <LabelledSelect
      label={label}
      look={styles.labelled}
      value={value}
      choices={[["", "any"], ...unknown, ...words]}
      onChange={onChange}
    />
  );
}

function Backends({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const known = useCatalogue().data?.backends as readonly { backend: string }[] | undefined;
  const names = known?.map((one) => one.backend) ?? (value === "" ? [] : [value]);
  return <Choice label="Backend" value={value} words={names} onChange={onChange} />;
}

function Controls({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const modules = useCatalogue().data?.modules as readonly Pick<Schemas["Module"], "cc">[] | undefined;
  const names = modules?.map((module) => module.cc) ?? [];
  return (
    <Choice
      label="CC"
      value={value}
      words={names.includes(value) || !value ? names : [value, ...names]}
      onChange={onChange}
    />
  );
}
