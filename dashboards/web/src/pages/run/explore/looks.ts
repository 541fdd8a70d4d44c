/** The looks into a run, by their word in the address. */
export const LOOKS = [
  ["", "None"],
  ["states", "States"],
  ["phase", "Phase plots"],
  ["sequence", "Sequence"],
  ["queue", "Queue map"],
] as const;

export type Look = (typeof LOOKS)[number][0];
