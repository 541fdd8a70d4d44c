import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { closeLater, doLater, doNow, later, undoLater, WAIT_S } from "./later";

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("window", globalThis);
});
afterEach(() => {
  undoLater();
  closeLater();
  vi.useRealTimers();
});

test("nothing happens before its time, and nothing at all after undo", async () => {
  const act = vi.fn(async () => "done");
  const undone = vi.fn();
  doLater("3 runs", act, undone);
  await vi.advanceTimersByTimeAsync(1000 * WAIT_S - 1);
  expect(act).not.toHaveBeenCalled();
  expect(later.get()?.state).toBe("waiting");
  undoLater();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(act).not.toHaveBeenCalled();
  expect(undone).toHaveBeenCalledOnce();
  expect(later.get()).toBeNull();
});

test("it tells its progress and its result", async () => {
  doLater("3 runs", async (tell) => {
    tell("1 of 3");
    await new Promise((resolve) => setTimeout(resolve, 100));
    return "3 deleted";
  });
  await vi.advanceTimersByTimeAsync(1000 * WAIT_S);
  expect(later.get()).toMatchObject({ state: "acting", text: "1 of 3" });
  // What has begun is not undone.
  undoLater();
  expect(later.get()?.text).toBe("1 of 3");
  await vi.advanceTimersByTimeAsync(100);
  expect(later.get()).toMatchObject({ state: "over", text: "3 deleted" });
  closeLater();
  expect(later.get()).toBeNull();
});

test("another action begins the one that waits, and has the sentence", async () => {
  const first = vi.fn(async () => "first is done");
  doLater("first", first);
  doLater("second", async () => "second is done");
  expect(first).toHaveBeenCalledOnce();
  await vi.advanceTimersByTimeAsync(10);
  expect(later.get()?.text).toBe("second");
  doNow();
  await vi.advanceTimersByTimeAsync(10);
  expect(later.get()?.text).toBe("second is done");
});
