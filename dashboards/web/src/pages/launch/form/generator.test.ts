import { expect, test } from "vitest";
import { generated, isWhole, objection, type Range, rangeBetween, unitsOf } from "./generator";

const range = (part: Partial<Range>): Range => ({ from: 10, to: 50, count: 5, scale: "linear", unit: "ms", ...part });

test.each([
  [range({}), ["10 ms", "20 ms", "30 ms", "40 ms", "50 ms"]],
  [
    range({ from: 1, to: 1000, count: 4, scale: "log", unit: "Mbit/s" }),
    ["1 Mbit/s", "10 Mbit/s", "100 Mbit/s", "1000 Mbit/s"],
  ],
  [range({ from: 1e-6, to: 1e-2, count: 5, scale: "log", unit: "" }), [1e-6, 1e-5, 1e-4, 1e-3, 1e-2]],
  [range({ from: 50, to: 10, count: 3 }), ["50 ms", "30 ms", "10 ms"]],
  [range({ from: 0, to: 1, count: 4, unit: "BDP" }), ["0 BDP", "0.3333 BDP", "0.6667 BDP", "1 BDP"]],
  [range({ from: 1, to: 3, count: 9, unit: "packets" }), ["1 packets", "2 packets", "3 packets"]],
  [range({ from: 5, to: 5 }), []],
  [range({ from: 0, scale: "log" }), []],
])("%j gives %j", (one, values) => {
  expect(generated(one, false)).toEqual(values);
});

test("whole numbers stay whole, and appear once", () => {
  expect(generated(range({ from: 1, to: 10, count: 4, unit: "" }), true)).toEqual([1, 4, 7, 10]);
});

test.each([
  [{ count: 1 }, "From 2 to 100 values"],
  [{ count: 2.5 }, "From 2 to 100 values"],
  [{ from: Number.NaN }, "are numbers"],
  [{ from: -1 }, "not negative"],
])("%j is objected to", (part, text) => {
  expect(objection(range(part))).toContain(text);
});

test("the range begins with the present values and their unit", () => {
  expect(rangeBetween(["20 ms"], ["ms", "s"])).toMatchObject({ from: 20, to: 200, unit: "ms" });
  expect(rangeBetween(["1 s", "5 s"], ["ms", "s"])).toMatchObject({ from: 1, to: 5, unit: "s" });
  expect(rangeBetween(["1e-5"], ["%", ""])).toMatchObject({ from: 1e-5, unit: "" });
  expect(rangeBetween([""], ["Mbit/s"])).toMatchObject({ from: 1, to: 10, unit: "Mbit/s" });
});

test("the schema determines the units", () => {
  expect(unitsOf({ type: "string", "x-quantity": "rate" })?.[0]).toBe("Mbit/s");
  expect(unitsOf({ type: "integer", maximum: 9 })).toEqual([""]);
  expect(unitsOf({ type: "string", enum: ["cubic"] })).toBeNull();
  expect(unitsOf({ "x-quantity": "switch", enum: ["on", "off"] })).toBeNull();
  expect([isWhole({ type: "integer" }), isWhole({ type: "integer", enum: [0, 1] })]).toEqual([true, false]);
});
