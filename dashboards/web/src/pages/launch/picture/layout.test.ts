import { expect, test } from "vitest";
import { type Drawing, layOut } from "./layout";

const SILENT = {
  rate_bps: null,
  delay_us: 0,
  jitter_us: 0,
  loss: 0,
  bursts: false,
  reorder: 0,
  duplicate: 0,
  corrupt: 0,
  queue: null,
  buffer_text: null,
  buffer_packets: null,
  buffer_us: null,
  ecn: false,
  medium: null,
};

function drawing(links: string, ways: readonly string[]): Drawing {
  const pairs = links.split(" ").map((link) => link.split("-") as [string, string]);
  const names = [...new Set(pairs.flat())];
  return {
    nodes: names.map((name) => ({ name, kind: name.startsWith("s") ? "switch" : "host" })),
    links: pairs.map((ends) => ({
      name: ends.join("-"),
      ends,
      bottleneck: ends.every((end) => end.startsWith("s")),
      forward: SILENT,
      reverse: SILENT,
    })),
    flows: ways.map((way, entry) => ({
      name: `f${entry}`,
      entry,
      kind: "tcp",
      cc: "cubic",
      way: way.split(" "),
      rtt_us: 1,
    })),
    hosts: names,
    more_nodes: 0,
    more_flows: 0,
  };
}

const words = (link: { bottleneck: boolean }) => (link.bottleneck ? ["100 Mbit/s, 264 packets"] : []);

test("a dumbbell: senders left, receivers right, the bottleneck longer", () => {
  const laid = layOut(drawing("s1-s2 a1-s1 s2-b1 a2-s1 s2-b2", ["a1 s1 s2 b1", "a2 s1 s2 b2"]), words);
  const at = Object.fromEntries(laid.spots.map((spot) => [spot.name, spot]));
  expect([at.a1?.x, at.a2?.x]).toEqual([36, 36]);
  expect(at.b1?.x).toBe(at.b2?.x);
  expect(at.s1?.y).toBe(at.s2?.y);
  expect((at.a1?.y ?? 0) + (at.a2?.y ?? 0)).toBe(2 * (at.s1?.y ?? 0));
  expect((at.s2?.x ?? 0) - (at.s1?.x ?? 0)).toBeGreaterThan((at.s1?.x ?? 0) - (at.a1?.x ?? 0));
  expect(laid.ways).toHaveLength(2);
});

test("cross traffic joins above and leaves below", () => {
  const laid = layOut(
    drawing("s1-s2 s2-s3 a0-s1 s3-b0 a1-s1 s2-b1 a2-s2 s3-b2", ["a0 s1 s2 s3 b0", "a1 s1 s2 b1", "a2 s2 s3 b2"]),
    words,
  );
  const at = Object.fromEntries(laid.spots.map((spot) => [spot.name, spot]));
  expect(at.a2?.y).toBeLessThan(at.s2?.y ?? 0);
  expect(at.b1?.y).toBeGreaterThan(at.s2?.y ?? 0);
  const places = laid.spots.map((spot) => `${spot.x} ${spot.y}`);
  expect(new Set(places).size).toBe(places.length);
});

test("many equal hosts are one, and so are the lines of their flows", () => {
  const hosts = Array.from({ length: 16 }, (_, place) => `a${place + 1}`);
  const one = drawing(
    `${hosts.map((host) => `${host}-s1`).join(" ")} s1-b1`,
    hosts.map((host) => `${host} s1 b1`),
  );
  const laid = layOut({ ...one, flows: one.flows.map((flow) => ({ ...flow, entry: 0 })) }, words);
  expect(laid.spots.map((spot) => [spot.name, spot.count])).toEqual([
    ["s1", 1],
    ["a1 … a16", 16],
    ["b1", 1],
  ]);
  expect(laid.ways).toEqual([{ entry: 0, count: 16, spots: expect.anything() }]);
});
