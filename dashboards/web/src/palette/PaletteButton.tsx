/** The button and the shortcut of the palette, whose code is loaded when it is first opened. */
import { type ComponentType, useState } from "react";
import { useMay } from "../api/session";
import { MOD, useShortcut } from "../navigation/shortcuts";
import { once } from "../pages/loading";
import { OWN_KEYS } from "./keys";
import styles from "./PaletteButton.module.css";

const load = once(() => import("./Palette"));

export function PaletteButton() {
  // A link to one result leads nowhere else.
  const may = useMay("read");
  const [Shown, setShown] = useState<ComponentType<{ onClose: () => void }> | null>(null);
  const open = (): void => {
    // After an upgrade the header offers to reload.
    load().then(
      (found) => setShown(() => found.default),
      () => undefined,
    );
  };
  useShortcut(OWN_KEYS, "Search and commands", open, { group: "Everywhere", enabled: may });
  if (!may) return null;
  return (
    <>
      <button type="button" className={styles.button} aria-haspopup="dialog" onClick={open}>
        <svg
          width="16"
          height="16"
          viewBox="0 0 16 16"
          aria-hidden="true"
          fill="none"
          stroke="currentColor"
          strokeWidth="1.5"
        >
          <circle cx="7" cy="7" r="4.5" />
          <path d="m10.5 10.5 4 4" strokeLinecap="round" />
        </svg>
        <span className={styles.words}>
          Search <kbd>{MOD} K</kbd>
        </span>
      </button>
      {Shown && <Shown onClose={() => setShown(null)} />}
    </>
  );
}
