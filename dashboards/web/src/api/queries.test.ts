import { QueryObserver } from "@tanstack/react-query";
import { afterEach, expect, test, vi } from "vitest";
import { queries, readAgain } from "./queries";

vi.hoisted(() => vi.stubGlobal("document", { baseURI: "http://lab.example/" }));

afterEach(() => queries.clear());

test("a list whose first response is older than a change is read once more", async () => {
  const kept: string[] = [];
  const responses: (() => void)[] = [];
  const read = vi.fn(() => {
    const now = [...kept];
    return new Promise<string[]>((resolve) => responses.push(() => resolve(now)));
  });
  const list = new QueryObserver(queries, { queryKey: ["sources"], queryFn: read });
  const unsubscribe = list.subscribe(() => undefined);
  expect(read).toHaveBeenCalledOnce();
  kept.push("sent meanwhile");
  const again = readAgain(["sources"]);
  responses[0]?.();
  await vi.waitFor(() => expect(read).toHaveBeenCalledTimes(2));
  expect(list.getCurrentResult().data).toEqual([]);
  responses[1]?.();
  await again;
  expect(list.getCurrentResult().data).toEqual(["sent meanwhile"]);
  unsubscribe();
});

test("a list that is known is read again once, and others not at all", async () => {
  const reads = ["sources", "kernels"].map((name) => {
    const read = vi.fn(async () => []);
    return { read, list: new QueryObserver(queries, { queryKey: [name], queryFn: read }) };
  });
  const ends = reads.map(({ list }) => list.subscribe(() => undefined));
  await vi.waitFor(() => expect(reads.map(({ list }) => list.getCurrentResult().isSuccess)).toEqual([true, true]));
  await readAgain(["sources"]);
  expect(reads.map(({ read }) => read.mock.calls.length)).toEqual([2, 1]);
  for (const end of ends) end();
});
