import { expect, test } from "vitest";
import type { Gallery } from "../../../data/gallery";
import { shelvesOf } from "./gallery";

const preset = (experiment: string, about: string): Gallery["experiments"][number] => ({
  experiment, about, runs: 1, duration: "1 s", wall_s: 1,
  miniature: { senders: 1, hops: 1, receivers: 1, flows: [], changes: [] },
}); // biome-ignore format: one look

const GALLERY: Gallery = {
  groups: [
    { title: "Start here", about: "", experiments: ["quick"] },
    { title: "What do losses cost?", about: "", experiments: ["old/quick", "quick"] },
  ],
  experiments: [preset("old/quick", "CUBIC loses"), preset("quick", "One CUBIC flow")],
};

const found = (sought: string) =>
  shelvesOf(GALLERY, sought).map(({ title, presets }) => [title, ...presets.map((one) => one.experiment)]);

test("without a search a preset is in each of its groups, in their order", () => {
  expect(found(" ")).toEqual([
    ["Start here", "quick"],
    ["What do losses cost?", "old/quick", "quick"],
  ]);
});

test("a search finds each preset once, by name, description and group", () => {
  expect(found("quick")).toEqual([["", "quick", "old/quick"]]);
  expect(found("flow CUBIC")).toEqual([["", "quick"]]);
  expect(found("losses")).toEqual([["", "old/quick", "quick"]]);
  expect(found("start here")).toEqual([["", "quick"]]);
  expect(found("bbr")).toEqual([]);
});
