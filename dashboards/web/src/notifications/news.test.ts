import { expect, test } from "vitest";
import { newsOf } from "./news";

function row(id: string, status: "running" | "missed" | "done", missed = 0) {
  const progress = { total: 5, cached: 0, done: 2, missed, failed: 0, cancelled: 0 };
  return { id, name: "pacing", status, progress };
}

test("an end is reported with the counts of its runs", () => {
  expect(newsOf([row("a", "missed", 3)], new Set(["a"]), new Set())).toEqual([
    { experiment: "a", title: "pacing: missed", body: "2 done, 3 missed of 5 runs", tag: "longhaul-a" },
  ]);
});

test("the first missed expectation is reported once, while the experiment is running", () => {
  const reported = new Set<string>();
  const rows = [row("a", "running", 1), row("b", "running")];
  expect(newsOf(rows, new Set(), reported).map(({ title }) => title)).toEqual(["pacing missed an expectation"]);
  expect(newsOf([row("a", "running", 2)], new Set(), reported)).toEqual([]);
  expect(newsOf([row("a", "missed", 2)], new Set(["a"]), reported).map(({ title }) => title)).toEqual([
    "pacing: missed",
  ]);
});

test("experiments of others, which are not among the rows, are not reported", () => {
  expect(newsOf([row("a", "running")], new Set(["z"]), new Set())).toEqual([]);
});
