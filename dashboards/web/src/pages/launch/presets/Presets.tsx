/** The shipped experiments in groups by question, with their pictures and costs: search, choose with the arrow keys, and replace the draft. */
import { useEffect, useEffectEvent, useState } from "react";
import { problemOf } from "../../../api/problem";
import { type Preset, useGallery } from "../../../data/gallery";
import { Dialog } from "../../../parts/Dialog";
import { ErrorNote } from "../../../parts/ErrorNote";
import { Finder } from "../../../parts/Finder";
import { Miniature } from "../../../parts/Miniature";
import { Waiting } from "../../../parts/Waiting";
import { count } from "../../../units";
import { fileOf } from "../catalogue";
import { FIRST, replaceDraft } from "../draft";
import { about } from "../Numbers";
import { shelvesOf } from "./gallery";
import styles from "./Presets.module.css";

/** A preset may be on several shelves. */
interface Option {
  key: string;
  preset: Preset;
}

export function Presets({ onClose }: { onClose: () => void }) {
  const gallery = useGallery();
  const [sought, setSought] = useState("");
  const [error, setError] = useState<unknown>(null);
  const groups = (gallery.data ? shelvesOf(gallery.data, sought) : []).map(({ title, presets, ...shelf }) => ({
    ...shelf,
    name: title,
    options: presets.map((preset) => ({ key: `${title} ${preset.experiment}`, preset })),
  }));
  const take = ({ preset }: Option): void => {
    fileOf(preset.experiment).then((text) => {
      replaceDraft({ ...FIRST, text });
      onClose();
    }, setError);
  };
  // Enter before the gallery has arrived counts when it arrives.
  const [entered, setEntered] = useState(false);
  const arrived = useEffectEvent(() => {
    const first = groups[0]?.options[0];
    if (first) take(first);
  });
  useEffect(() => {
    if (entered && !gallery.isPending) arrived();
  }, [entered, gallery.isPending]);
  const failed = error ?? gallery.error;
  return (
    <Dialog title="Presets" onClose={onClose}>
      <Finder
        label="Search experiments"
        placeholder="Search names, papers and descriptions"
        list="Experiments"
        groups={groups}
        keyOf={({ key }) => key}
        show={({ preset }) => <Row preset={preset} />}
        sought={sought}
        onSought={setSought}
        onTake={take}
        onMiss={() => gallery.isPending && setEntered(true)}
        onClose={onClose}
        ends={false}
        page={6}
        looks={{ list: styles.list, group: styles.group, option: styles.preset }}
      >
        {failed !== null && <ErrorNote error={problemOf(failed)} />}
        {gallery.isPending && <Waiting height="min(30rem, 60vh)" />}
        {gallery.data !== undefined && groups.length === 0 && (
          <p className="none">
            No preset contains all of these words. Choose a similar one, such as <code>demo</code>, and change its path
            in the form.
          </p>
        )}
      </Finder>
    </Dialog>
  );
}

function Row({ preset }: { preset: Preset }) {
  return (
    <>
      <span className={styles.picture}>
        <Miniature picture={preset.miniature} />
      </span>
      <strong>{preset.experiment}</strong>
      <span className={styles.cost}>
        {preset.runs === 1 ? "1 run" : `${count(preset.runs)} runs`} of {preset.duration}, about {about(preset.wall_s)}
      </span>
      <span className={styles.about}>{preset.about}</span>
    </>
  );
}
