import { expect, test } from "vitest";
import { startsIn } from "./queueTimes";

type Queue = Parameters<typeof startsIn>[0];

const task = (wall_estimate_s: number, progress_s = 0) => ({ wall_estimate_s, progress_s, virtual_s: 10 });
const queue = (running: unknown[], next: unknown[], slots: number): Queue =>
  ({
    running,
    next,
    workers: [
      { there: true, slots },
      { there: false, slots: 9 },
    ],
  }) as Queue;

test("the next runs start when the slots before them become free", () => {
  expect(startsIn(queue([task(10, 5)], [task(4), task(2), task(1)], 1))).toEqual([5, 9, 11]);
  expect(startsIn(queue([task(10), task(4)], [task(3), task(1), task(1)], 2))).toEqual([4, 7, 8]);
  expect(startsIn(queue([], [task(3), task(1)], 2))).toEqual([0, 0]);
});

test("without a worker no run starts", () => {
  expect(startsIn(queue([], [task(3)], 0))).toEqual([null]);
});
