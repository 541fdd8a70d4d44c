import { beforeAll, expect, test, vi } from "vitest";

let freeName: typeof import("./edit").freeName;

beforeAll(async () => {
  vi.stubGlobal("window", { localStorage: { getItem: () => null, setItem: () => undefined } });
  vi.stubGlobal("document", { baseURI: "http://lab.example/" });
  ({ freeName } = await import("./edit"));
});

test("a name that nothing has is one that is wanted, or else says what it is of", () => {
  expect(freeName("phase", ["early"], ["early", "late"])).toBe("late");
  expect(freeName("phase", ["early", "late"], ["early", "late"])).toBe("phase-3");
  expect(freeName("flow", ["one", "flow-3"], ["one"])).toBe("flow-4");
});
