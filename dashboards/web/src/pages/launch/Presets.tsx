/** The shipped experiments: search, choose with the arrow keys, and replace the draft. */
import { type KeyboardEvent, useState } from "react";
import { problemOf } from "../../api/problem";
import { Dialog } from "../../parts/Dialog";
import { ErrorNote } from "../../parts/ErrorNote";
import { Waiting } from "../../parts/Waiting";
import { count } from "../../units";
import { fileOf, type Names, useNames } from "./catalogue";
import { FIRST, replaceDraft } from "./draft";
import styles from "./Presets.module.css";

type Row = Names["experiments"][number];

export function Presets({ onClose }: { onClose: () => void }) {
  const { experiments } = useNames();
  const [sought, setSought] = useState("");
  const [place, setPlace] = useState(0);
  const [error, setError] = useState<unknown>(null);
  const found = matching(experiments, sought);
  const chosen = found[Math.min(place, found.length - 1)];
  const take = (row: Row | undefined): void => {
    if (row === undefined) return;
    fileOf(row.experiment).then((text) => {
      replaceDraft({ ...FIRST, text });
      onClose();
    }, setError);
  };
  const press = (event: KeyboardEvent): void => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (by !== undefined) {
      event.preventDefault();
      setPlace(Math.max(0, Math.min(found.length - 1, place + by)));
    } else if (event.key === "Escape") {
      // The browser itself would only clear the search.
      event.preventDefault();
      onClose();
    } else if (event.key === "Enter") {
      event.preventDefault();
      take(chosen);
    }
  };
  return (
    <Dialog title="Presets" onClose={onClose}>
      <input
        type="search"
        className={styles.search}
        placeholder="Search names, papers and descriptions"
        aria-label="Search experiments"
        role="combobox"
        aria-expanded="true"
        aria-controls="presets"
        aria-activedescendant={chosen && idOf(chosen)}
        value={sought}
        autoFocus
        onChange={(event) => {
          setSought(event.target.value);
          setPlace(0);
        }}
        onKeyDown={press}
      />
      {error !== null && <ErrorNote error={problemOf(error)} />}
      {experiments.length === 0 && <Waiting height="20rem" />}
      <div id="presets" role="listbox" aria-label="Experiments" className={styles.list}>
        {found.map((row) => (
          <Preset key={row.experiment} row={row} isChosen={row === chosen} onTake={() => take(row)} />
        ))}
        {experiments.length > 0 && found.length === 0 && (
          <p className={styles.none}>
            No preset contains all of these words. Choose a similar one, such as <code>demo</code>, and change its path
            in the form.
          </p>
        )}
      </div>
    </Dialog>
  );
}

function Preset({ row, isChosen, onTake }: { row: Row; isChosen: boolean; onTake: () => void }) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Enter in the search does the same
    // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the search
    <div
      id={idOf(row)}
      role="option"
      aria-selected={isChosen}
      className={styles.preset}
      ref={(element) => {
        if (isChosen) element?.scrollIntoView({ block: "nearest" });
      }}
      onClick={onTake}
    >
      <strong>{row.experiment}</strong>
      <span className={styles.cost}>
        {row.runs === 1 ? "1 run" : `${count(row.runs)} runs`} of {row.duration}
      </span>
      <span className={styles.about}>{row.about}</span>
    </div>
  );
}

function idOf(row: Row): string {
  return `preset-${row.experiment.replaceAll("/", "-")}`;
}

/** Presets with every word in their name or description; names that begin with the search come first. */
export function matching(rows: readonly Row[], sought: string): readonly Row[] {
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const whole = words.join(" ");
  const has = ({ experiment, about }: Row): boolean =>
    words.every((word) => `${experiment} ${about}`.toLowerCase().includes(word));
  return rows
    .filter(has)
    .toSorted((a, b) => Number(b.experiment.startsWith(whole)) - Number(a.experiment.startsWith(whole)));
}
