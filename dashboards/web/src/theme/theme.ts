/** The theme of the page while it is open. The browser stores the choice; theme.css has the colours. */

import { Store, useStore } from "../store";
import { type Choice, storeChoice, storedChoice, type Theme, themeOf } from "./choice";
import { applyPalette } from "./palette";

const dark = window.matchMedia("(prefers-color-scheme: dark)");

const choice = new Store<Choice>(storedChoice());
const theme = new Store<Theme>(themeOf(choice.get()));

function apply(): void {
  const now = themeOf(choice.get());
  document.documentElement.dataset.theme = now;
  applyPalette(now);
  theme.set(now);
}

/** Call it before anything is drawn. */
export function startTheme(): void {
  apply();
  dark.addEventListener("change", apply);
}

export function chooseTheme(chosen: Choice): void {
  storeChoice(chosen);
  choice.set(chosen);
  apply();
}

export function useThemeChoice(): Choice {
  return useStore(choice);
}

/** The current theme; canvases are drawn again when it changes. */
export function useTheme(): Theme {
  return useStore(theme);
}
