/** The palette: opens pages, runs, experiments, figures and congestion controls by their names, and does what the current view can do. */
import { useLayoutEffect, useState } from "react";
import { flushSync } from "react-dom";
import { go } from "../navigation/route";
import { Dialog } from "../parts/Dialog";
import { ErrorNote } from "../parts/ErrorNote";
import { Finder } from "../parts/Finder";
import { Keys } from "../parts/Keys";
import { type Choice, groupsFor } from "./choices";
import styles from "./Palette.module.css";
import { keepChoice } from "./recent";
import { useFound } from "./useFound";
import { useOffered } from "./useOffered";

export interface PaletteProps {
  /** Gives the text that was typed before the field was there, once. */
  endTyping: () => string;
  onClose: () => void;
}

export default function Palette({ endTyping, onClose }: PaletteProps) {
  const [sought, setSought] = useState("");
  // The field has the focus by now, so that no letter falls between.
  useLayoutEffect(() => {
    const typed = endTyping();
    setSought((now) => typed + now);
  }, [endTyping]);
  const offered = useOffered();
  const { error, pending, ...found } = useFound(sought);
  const groups = groupsFor(sought, { ...offered, ...found });
  const take = (choice: Choice): void => {
    keepChoice(choice);
    // The dialog returns the focus first, because actions may move it, and shortcuts wait for the end of a dialog.
    flushSync(onClose);
    if (choice.link === undefined) choice.act?.();
    else if (choice.link !== window.location.hash) go(choice.link);
  };
  return (
    <Dialog title="Search and commands" onClose={onClose}>
      <Finder
        label="Search and commands"
        placeholder="Pages, actions, runs, experiments, figures …"
        list="Results"
        groups={groups}
        keyOf={(choice) => choice.key}
        show={(choice) => <Row choice={choice} />}
        sought={sought}
        onSought={setSought}
        onTake={take}
        onClose={onClose}
      >
        {error !== null && <ErrorNote error={error} />}
        {groups.length === 0 && error === null && (
          <p className="none">{pending ? "Searching …" : "Nothing has all of these words."}</p>
        )}
      </Finder>
    </Dialog>
  );
}

function Row({ choice: { name, note, keys } }: { choice: Choice }) {
  return (
    <div className={styles.row}>
      <span className={styles.name}>{name}</span>
      {keys && (
        <span className={styles.keys}>
          <Keys keys={keys} />
        </span>
      )}
      {note && <span className={styles.note}>{note}</span>}
    </div>
  );
}
