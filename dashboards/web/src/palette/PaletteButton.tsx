/** The button and the shortcut of the palette, whose code is loaded when it is first opened. */
import { type ComponentType, useState } from "react";
import { useMay } from "../api/session";
import { MOD, useShortcut } from "../navigation/shortcuts";
import { once } from "../pages/loading";
import { OWN_KEYS } from "./keys";
import type { PaletteProps } from "./Palette";
import styles from "./PaletteButton.module.css";

const load = once(() => import("./Palette"));

/** Keeps letters that are typed before the palette is there; the returned function ends that, and gives the text. */
function collectTyping(): () => string {
  let text = "";
  const take = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Backspace") text = text.slice(0, -1);
    else if (event.key.length === 1) text += event.key;
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  window.addEventListener("keydown", take, true);
  return () => {
    window.removeEventListener("keydown", take, true);
    const typed = text;
    text = "";
    return typed;
  };
}

export function PaletteButton() {
  // A link to one result leads nowhere else.
  const may = useMay("read");
  const [shown, setShown] = useState<{ Palette: ComponentType<PaletteProps>; endTyping: () => string } | null>(null);
  const open = (): void => {
    const endTyping = collectTyping();
    // After an upgrade the header offers to reload.
    load().then((found) => setShown({ Palette: found.default, endTyping }), endTyping);
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
      {shown && <shown.Palette endTyping={shown.endTyping} onClose={() => setShown(null)} />}
    </>
  );
}
