import { describe, expect, it } from "vitest";
import { fieldScale, inset, isLog, linear, logarithmic, quantityOf } from "./scale";

describe("scale", () => {
  it("places values, linear and logarithmic, and finds them again", () => {
    expect(linear([10, 30]).share(15)).toBeCloseTo(0.25);
    expect(logarithmic([1, 100]).share(10)).toBeCloseTo(0.5);
    expect(logarithmic([1, 100]).value(0.5)).toBeCloseTo(10);
    expect(logarithmic([1, 1000]).ticks).toEqual([1, 10, 100, 1000]);
    const inner = inset(linear([0, 10]), 0.1);
    expect([inner.share(0), inner.share(10), inner.value(0.5)]).toEqual([0.1, 0.9, 5]);
    // One value alone is in the middle.
    expect(linear([7, 7]).share(7)).toBe(0.5);
  });

  it("reads quantities in units of one kind", () => {
    expect(quantityOf("20 ms")).toEqual([0.02, "s"]);
    expect(quantityOf("1e-5")).toEqual([1e-5, ""]);
    expect(quantityOf("0.5 BDP")).toEqual([0.5, "BDP"]);
    expect(quantityOf("cubic")).toBeNull();
    expect(quantityOf("20 bananas")).toBeNull();
  });
});

describe("the scale of a field", () => {
  it("is logarithmic if its values are spaced by factors, in the order of the numbers", () => {
    const scale = fieldScale(["1 s", "10 ms", "100 ms"]);
    expect(scale.log).toBe(true);
    expect(scale.values).toEqual(["10 ms", "100 ms", "1 s"]);
    expect(scale.share(scale.number("100 ms"))).toBeCloseTo(0.5);
    expect(scale.text(0.1)).toBe("100 ms");
  });

  it("is linear for even steps, and has words in their own order", () => {
    expect(fieldScale(["10 ms", "20 ms", "30 ms"]).log).toBe(false);
    const words = fieldScale(["reno", "cubic", "bbr"]);
    expect([words.number("cubic"), words.share(1), words.text(2)]).toEqual([1, 0.5, "bbr"]);
    // Of two kinds of units, there is no common number.
    expect(fieldScale(["1 BDP", "50 packets"]).number("50 packets")).toBe(1);
  });

  it("needs three values and a factor of four to be logarithmic", () => {
    expect(isLog([1, 100])).toBe(false);
    expect(isLog([1, 2, 4])).toBe(true);
    expect(isLog([1, 2, 3.5])).toBe(false);
    expect(isLog([0, 1, 10])).toBe(false);
  });
});
