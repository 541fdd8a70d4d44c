import { expect, test, vi } from "vitest";
import { flowEntries, freeName } from "./edit";

vi.hoisted(() => vi.stubGlobal("document", { baseURI: "http://lab.example/" }));

test("an unused name is a wanted one, or the noun with a number", () => {
  expect(freeName("phase", ["early"], ["early", "late"])).toBe("late");
  expect(freeName("phase", ["early", "late"], ["early", "late"])).toBe("phase-3");
  expect(freeName("flow", ["one", "flow-3"], ["one"])).toBe("flow-4");
});

test("the schema's fields determine the traffic of a flow", () => {
  const traffic = { udp: { kind: "udp", name: "UDP", start: "1 Mbit/s" } };
  const schema = { properties: { flows: { items: { "x-traffic": traffic } } } };
  const data = {
    flows: [
      { name: "a", cc: "reno" },
      { name: "b", udp: "2 Mbit/s" },
    ],
  };
  expect(flowEntries(data, schema).map((flow) => flow.kind)).toEqual(["tcp", "udp"]);
  expect(flowEntries(data, null).map((flow) => flow.kind)).toEqual(["tcp", "tcp"]);
});
