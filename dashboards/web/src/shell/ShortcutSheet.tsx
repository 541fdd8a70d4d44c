/** The list of keyboard shortcuts that work now. */
import { Fragment } from "react";
import { type Shortcut, useShortcuts } from "../navigation/shortcuts";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Keys } from "../parts/Keys";
import styles from "./ShortcutSheet.module.css";

export function ShortcutSheet({ onClose }: { onClose: () => void }) {
  const groups = grouped(useShortcuts());
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      {groups.map(([group, shortcuts]) => (
        <section key={group}>
          <h3 className={styles.group}>{group}</h3>
          <dl className={styles.keys}>
            {shortcuts.map((one) => (
              <Fragment key={one.keys}>
                <dt>
                  <Keys keys={one.keys} />
                </dt>
                <dd>{one.about}</dd>
              </Fragment>
            ))}
          </dl>
        </section>
      ))}
      <div>
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}

/** The shortcuts by group; this page's groups come first. */
function grouped(all: readonly Shortcut[]): [string, Shortcut[]][] {
  const groups = new Map<string, Shortcut[]>();
  for (const one of all) groups.set(one.group, [...(groups.get(one.group) ?? []), one]);
  return [...groups].sort(([a], [b]) => Number(a === "Everywhere") - Number(b === "Everywhere"));
}
