/** Dark, light, or as the system has it: the choice is kept in the browser, the colours are in theme.css. */

import { Store, useStore } from "../store";
import { applyPalette } from "./palette";

export const CHOICES = ["system", "light", "dark"] as const;
export type Choice = (typeof CHOICES)[number];
export type Theme = "light" | "dark";

const KEPT = "longhaul.theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");

const choice = new Store<Choice>(kept());
const theme = new Store<Theme>(themeOf(choice.get()));

function kept(): Choice {
  const written = window.localStorage.getItem(KEPT);
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

/** Before anything is drawn. */
export function startTheme(): void {
  apply();
  dark.addEventListener("change", apply);
}

export function chooseTheme(chosen: Choice): void {
  window.localStorage.setItem(KEPT, chosen);
  choice.set(chosen);
  apply();
}

export function useThemeChoice(): Choice {
  return useStore(choice);
}

/** The theme that is shown; what draws on a canvas draws again when it changes. */
export function useTheme(): Theme {
  return useStore(theme);
}

/** The colour that a token of theme.css has now, for canvases: `colourOf("--line")`. */
export function colourOf(token: `--${string}`): string {
  const probe = document.createElement("i");
  probe.style.color = `var(${token})`;
  document.body.append(probe);
  const colour = window.getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
