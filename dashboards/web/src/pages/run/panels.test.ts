import { expect, test, vi } from "vitest";
import type { Outline } from "../../data/runDocument";
import { PANELS, referencesOf } from "./panels";

vi.mock(import("../../theme/palette"), async (original) => ({ ...(await original()), colourOf: (name) => name }));
vi.mock("../../api/client", () => ({ api: {} }));

const LINK = { name: "s1-s2", queue: "fifo", rate_bps: 9e6, limit_packets: 200, recorded: true };
const OUTLINE: Outline = {
  experiment: "cell",
  backend: "sandbox",
  clock: "virtual",
  duration_s: 4,
  window_s: [0, 4],
  rtt_ms: 40,
  bdp_packets: 30,
  buffer_packets: 200,
  flows: [],
  // It begins with an outage, and ends with a rate that is not the mean.
  links: [
    {
      ...LINK,
      rates: [
        { t_s: 0, bps: 0 },
        { t_s: 1, bps: 12e6 },
      ],
    },
  ],
  moments: [],
};
const NOW = [0, 4] as const;

function linesOf(measure: string, outline: Outline) {
  const panel = PANELS.find((one) => one.measure === measure);
  if (panel === undefined) throw new Error(measure);
  return referencesOf(panel, outline).map(({ name, area, samples }) => {
    const { t, v } = samples(NOW);
    return { name, area: area === true, t: [...t], v: [...v] };
  });
}

test("the capacity of a recorded link is an area, at every instant, with its mean as the name", () => {
  expect(linesOf("goodput", OUTLINE)).toEqual([
    { name: "recorded capacity, mean 9 Mbit/s", area: true, t: [0, 1, 1, 4], v: [0, 0, 12e6, 12e6] },
  ]);
});

test("its bandwidth-delay product is that of the mean", () => {
  expect(linesOf("cwnd", OUTLINE).map(({ name, t, v }) => [name, t, v])).toEqual([
    ["BDP 30", [0, 4], [30, 30]],
    ["BDP + buffer 230", [0, 4], [230, 230]],
  ]);
});

test("the capacity of another link is a dashed line, which names the last rate", () => {
  const rates = [
    { t_s: 0, bps: 10e6 },
    { t_s: 2, bps: 5e6 },
  ];
  const outline = { ...OUTLINE, links: [{ ...LINK, rate_bps: 10e6, recorded: false, rates }] };
  expect(linesOf("goodput", outline).map(({ name, area }) => [name, area])).toEqual([["capacity 5 Mbit/s", false]]);
});
