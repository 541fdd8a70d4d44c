/** The choice of the theme: light, dark, or that of the system. */
import { Segments } from "../parts/Segments";
import type { Choice } from "./choice";
import { chooseTheme, useThemeChoice } from "./theme";

const NAMES: readonly (readonly [Choice, string])[] = [
  ["system", "System"],
  ["light", "Light"],
  ["dark", "Dark"],
];

export function ThemeSwitch() {
  return <Segments label="Theme" choices={NAMES} value={useThemeChoice()} onChange={chooseTheme} />;
}
