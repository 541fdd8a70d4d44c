/** The choice of a theme, which the browser stores: dark, light, or that of the system. */

export const CHOICES = ["system", "light", "dark"] as const;
export type Choice = (typeof CHOICES)[number];
export type Theme = "light" | "dark";

const STORAGE_KEY = "longhaul.theme";

export function storedChoice(): Choice {
  const written = window.localStorage.getItem(STORAGE_KEY);
  return CHOICES.find((one) => one === written) ?? "system";
}

export function storeChoice(chosen: Choice): void {
  window.localStorage.setItem(STORAGE_KEY, chosen);
}

export function themeOf(chosen: Choice): Theme {
  if (chosen !== "system") return chosen;
  return window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}
