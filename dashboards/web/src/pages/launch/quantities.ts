/** The units of each quantity of the format, the most usual first. */
export const UNITS: Readonly<Record<string, readonly string[]>> = {
  rate: ["Mbit/s", "Gbit/s", "kbit/s"],
  duration: ["ms", "s", "us", "min"],
  size: ["MB", "GB", "TB", "KB", "MiB"],
  buffer: ["BDP", "packets", "ms", "KB"],
  packets: ["packets"],
  mark: ["packets", "KB"],
  step: ["ms", "packets"],
  window: ["packets", "KB", "MB"],
  share: ["%"],
};
