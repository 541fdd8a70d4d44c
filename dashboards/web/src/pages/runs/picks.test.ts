import { expect, test } from "vitest";
import { allUntil, countOf, isPicked, readPicks, toggled } from "./picks";

test("ids are selected one by one", () => {
  const written = toggled(toggled([], "a"), "b");
  expect(written).toEqual(["a", "b"]);
  expect(toggled(written, "a")).toEqual(["b"]);
  expect([isPicked(readPicks(written), "a"), isPicked(readPicks(written), "c")]).toEqual([true, false]);
  expect(countOf(readPicks(written), 2032)).toBe(2);
});

test("all that match are selected, but those that were pressed", () => {
  const written = toggled(allUntil("2031-05-17T09:00:00.001Z"), "a");
  const picks = readPicks(written);
  expect(picks).toMatchObject({ all: true, until: "2031-05-17T09:00:00.001Z" });
  expect([isPicked(picks, "a"), isPicked(picks, "b")]).toEqual([false, true]);
  expect(countOf(picks, 2032)).toBe(2031);
  expect(toggled(written, "a")).toEqual(allUntil("2031-05-17T09:00:00.001Z"));
});
