/** The priority of an experiment in words; the service knows -10 to 10. */
import type { ComponentProps } from "react";
import { Select } from "./Select";

const LEVELS: readonly (readonly [number, string])[] = [
  [10, "First of all (10)"],
  [5, "High (5)"],
  [0, "Normal (0)"],
  [-5, "Low (-5)"],
  [-10, "When nothing else waits (-10)"],
];

export function PrioritySelect(select: Omit<ComponentProps<typeof Select<number>>, "choices">) {
  const { value } = select;
  return <Select {...select} choices={LEVELS.some(([level]) => level === value) ? LEVELS : [value, ...LEVELS]} />;
}
