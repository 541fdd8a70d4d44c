/** The theme: dark, light, or that of the system. The browser stores the choice; theme.css has the colours. */

import { Store, useStore } from "../store";
import { applyPalette } from "./palette";

export const CHOICES = ["system", "light", "dark"] as const;
export type Choice = (typeof CHOICES)[number];
export type Theme = "light" | "dark";

const STORAGE_KEY = "longhaul.theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");

const choice = new Store<Choice>(storedChoice());
const theme = new Store<Theme>(themeOf(choice.get()));

function storedChoice(): Choice {
  const written = window.localStorage.getItem(STORAGE_KEY);
  return CHOICES.find((one) => one === written) ?? "system";
}

function themeOf(chosen: Choice): Theme {
  return chosen === "system" ? (dark.matches ? "dark" : "light") : chosen;
}

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
  window.localStorage.setItem(STORAGE_KEY, chosen);
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

/** The current colour of a token of theme.css, for canvases: `colourOf("--line")`. */
export function colourOf(token: `--${string}`): string {
  const probe = document.createElement("i");
  probe.style.color = `var(${token})`;
  document.body.append(probe);
  const colour = window.getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
