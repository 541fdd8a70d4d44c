/** The shipped experiments in groups by question, with their pictures and costs: search, choose with the arrow keys, and replace the draft. */
import { type KeyboardEvent, useEffect, useEffectEvent, useState } from "react";
import { problemOf } from "../../../api/problem";
import { type Preset, useGallery } from "../../../data/gallery";
import { Dialog } from "../../../parts/Dialog";
import { ErrorNote } from "../../../parts/ErrorNote";
import { Option } from "../../../parts/Finder";
import { Miniature } from "../../../parts/Miniature";
import { Waiting } from "../../../parts/Waiting";
import { count } from "../../../units";
import { fileOf } from "../catalogue";
import { FIRST, replaceDraft } from "../draft";
import { about } from "../Numbers";
import { type Shelf, shelvesOf } from "./gallery";
import styles from "./Presets.module.css";

export function Presets({ onClose }: { onClose: () => void }) {
  const gallery = useGallery();
  const [sought, setSought] = useState("");
  const [place, setPlace] = useState(0);
  const [error, setError] = useState<unknown>(null);
  const shelves = gallery.data ? shelvesOf(gallery.data, sought) : [];
  const ids = shelves.flatMap((shelf) => shelf.presets.map((preset) => idOf(shelf, preset)));
  const chosen = ids[Math.min(place, ids.length - 1)];
  const take = (preset: Preset | undefined): void => {
    if (preset === undefined) return;
    fileOf(preset.experiment).then((text) => {
      replaceDraft({ ...FIRST, text });
      onClose();
    }, setError);
  };
  const press = (event: KeyboardEvent): void => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 6, PageUp: -6 }[event.key];
    if (by !== undefined) {
      event.preventDefault();
      setPlace(Math.max(0, Math.min(ids.length - 1, place + by)));
    } else if (event.key === "Escape") {
      // The browser itself would only clear the search.
      event.preventDefault();
      onClose();
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (gallery.isPending) setEntered(true);
      else takeChosen();
    }
  };
  const takeChosen = (): void => take(shelves.flatMap((shelf) => shelf.presets)[ids.indexOf(chosen ?? "")]);
  // Enter before the gallery has arrived counts when it arrives.
  const [entered, setEntered] = useState(false);
  const arrived = useEffectEvent(takeChosen);
  useEffect(() => {
    if (entered && !gallery.isPending) arrived();
  }, [entered, gallery.isPending]);
  const failed = error ?? gallery.error;
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
        aria-activedescendant={chosen}
        value={sought}
        autoFocus
        onChange={(event) => {
          setSought(event.target.value);
          setPlace(0);
        }}
        onKeyDown={press}
      />
      {failed !== null && <ErrorNote error={problemOf(failed)} />}
      {gallery.isPending && <Waiting height="min(30rem, 60vh)" />}
      <div
        id="presets"
        role="listbox"
        aria-label="Experiments"
        className={styles.list}
        hidden={gallery.data === undefined}
      >
        {shelves.map((shelf) => (
          <div key={shelf.title} role="group" aria-label={shelf.title || "Found"}>
            {shelf.title !== "" && (
              <div className={styles.group} aria-hidden="true">
                <strong>{shelf.title}</strong> {shelf.about}
              </div>
            )}
            {shelf.presets.map((preset) => {
              const id = idOf(shelf, preset);
              return <Row key={id} id={id} preset={preset} isChosen={id === chosen} onTake={() => take(preset)} />;
            })}
          </div>
        ))}
        {gallery.data !== undefined && shelves.length === 0 && (
          <p className="none">
            No preset contains all of these words. Choose a similar one, such as <code>demo</code>, and change its path
            in the form.
          </p>
        )}
      </div>
    </Dialog>
  );
}

interface RowProps {
  id: string;
  preset: Preset;
  isChosen: boolean;
  onTake: () => void;
}

function Row({ preset, ...option }: RowProps) {
  return (
    <Option {...option} look={styles.preset}>
      <span className={styles.picture}>
        <Miniature picture={preset.miniature} />
      </span>
      <strong>{preset.experiment}</strong>
      <span className={styles.cost}>
        {preset.runs === 1 ? "1 run" : `${count(preset.runs)} runs`} of {preset.duration}, about {about(preset.wall_s)}
      </span>
      <span className={styles.about}>{preset.about}</span>
    </Option>
  );
}

function idOf(shelf: Shelf, preset: Preset): string {
  return `preset-${`${shelf.title} ${preset.experiment}`.replace(/[^\w]+/g, "-")}`;
}
