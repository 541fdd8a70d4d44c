import { expect, test } from "vitest";
import { Problem } from "../../api/problem";
import { reasonsOf, summaryOf, toEach } from "./acting";
import { idsOfAll, PAGE_OF_IDS } from "./pickAll";

/** A list with a number of rows, and the limits of its requests. */
function listOf(many: number) {
  const limits: number[] = [];
  const read = (cursor: string, limit: number) => {
    limits.push(limit);
    const from = Number(cursor);
    const to = Math.min(many, from + limit);
    const items = Array.from({ length: to - from }, (_, at) => ({ id: `run-${from + at}` }));
    return Promise.resolve({ items, next: to < many ? String(to) : null });
  };
  return { read, limits };
}

const refusal = (what: string, status = 409, headers: Record<string, string> = {}): Problem =>
  Problem.of(new Response(null, { status, headers }), { title: "It does not go", what, hint: "ask an admin" });

test("all matching ids are read over all pages", async () => {
  const { read, limits } = listOf(PAGE_OF_IDS + 234);
  const ids = await idsOfAll(read, 10_000);
  expect(ids.length).toBe(PAGE_OF_IDS + 234);
  expect(new Set(ids).size).toBe(ids.length);
  expect(limits).toEqual([PAGE_OF_IDS, PAGE_OF_IDS]);
  expect(await idsOfAll(listOf(0).read, 10)).toEqual([]);
});

test("no more ids are read than can be selected", async () => {
  const { read, limits } = listOf(5000);
  expect((await idsOfAll(read, 1000)).at(-1)).toBe("run-999");
  expect(limits).toEqual([500, 500]);
  expect((await idsOfAll(listOf(5000).read, 7)).length).toBe(7);
});

test("a row that moves to the next page while it is read counts once, and an empty page ends the list", async () => {
  const pages: Record<string, { items: { id: string }[]; next: string | null }> = {
    "": { items: [{ id: "a" }, { id: "b" }], next: "2" },
    "2": { items: [{ id: "b" }, { id: "c" }], next: "3" },
    "3": { items: [], next: "3" },
  };
  const found = await idsOfAll((cursor) => Promise.resolve(pages[cursor] ?? { items: [], next: null }), 10);
  expect(found).toEqual(["a", "b", "c"]);
});

test("each run gets one request, and refusals are counted", async () => {
  const ids = Array.from({ length: 30 }, (_, at) => `run-${at}`);
  const asked: string[] = [];
  const steps: number[] = [];
  const outcome = await toEach(ids, {
    act: async (id) => {
      asked.push(id);
      if (id.endsWith("7")) throw refusal("it is pinned");
      return id !== "run-0";
    },
    onStep: (behind) => steps.push(behind),
  });
  expect([...asked].sort()).toEqual([...ids].sort());
  expect(steps).toEqual(ids.map((_, at) => at + 1));
  expect(summaryOf(outcome, "run", "deleted")).toBe("26 of 30 runs deleted; 1 had ended already; 3 refused.");
  expect(summaryOf({ done: 1, idle: 0, refused: [], left: [] }, "run", "deleted")).toBe("1 run deleted.");
});

test("a request waits as the service demands, and fails in the end", async () => {
  const waited: number[] = [];
  let refusals = 2;
  const sleep = (seconds: number) => Promise.resolve(void waited.push(seconds));
  const busy = refusal("too many", 429, { "retry-after": "3" });
  const act = async () => {
    if (refusals-- > 0) throw busy;
    return true;
  };
  expect((await toEach(["a"], { act, sleep })).done).toBe(1);
  expect(waited).toEqual([3, 3]);
  const never = await toEach(["a"], { act: () => Promise.reject(busy), sleep });
  expect(never.refused.length).toBe(1);
  // If waiting does not help, it is a refusal like others.
  waited.length = 0;
  const full = await toEach(["a"], { act: () => Promise.reject(refusal("the queue is full", 429)), sleep });
  expect([full.refused.length, waited.length]).toEqual([1, 0]);
});

test("after a stop, or without the service, the other runs stay unchanged", async () => {
  const ids = Array.from({ length: 100 }, (_, at) => `run-${at}`);
  const stop = new AbortController();
  const stopped = await toEach(ids, {
    act: async () => true,
    onStep: (behind) => behind === 10 && stop.abort(),
    stop: stop.signal,
  });
  expect(stopped.done).toBeLessThan(20);
  expect(stopped.done + stopped.left.length).toBe(100);
  const away = await toEach(ids, { act: () => Promise.reject(Problem.unreachable()) });
  expect(away.refused.length).toBeLessThanOrEqual(4);
  expect(summaryOf(away, "run", "pinned")).toMatch(/^0 of 100 runs pinned; \d refused; 9\d unchanged\.$/);
});

test("refusals are grouped by reason, the most frequent first", () => {
  const reasons = reasonsOf([
    ["a", refusal("it is running")],
    ["b", refusal("it is pinned")],
    ["c", refusal("it is pinned")],
  ]);
  expect(reasons.map(({ problem, ids }) => [problem.what, ids])).toEqual([
    ["it is pinned", ["b", "c"]],
    ["it is running", ["a"]],
  ]);
});
