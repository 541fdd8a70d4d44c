import { expect, test } from "vitest";
import { searchOf, tagsIn } from "./annotation";

test("tags are separated by commas, spaced once, and each there once", () => {
  expect(tagsIn(" Night  shift, chile;; night shift,\n日本 ")).toEqual(["Night shift", "chile", "日本"]);
  expect(tagsIn(" , ")).toEqual([]);
});

test("a tag of several words is one word of a search", () => {
  expect(searchOf("night shift")).toBe("tag=night-shift");
});
