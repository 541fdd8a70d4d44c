import { expect, test, vi } from "vitest";
import { wantedOf } from "./wanted";

vi.mock("../draft", () => ({ change: vi.fn(), draft: { get: vi.fn() } }));

const REFERENCE = `sha256:${"ab".repeat(32)}`;

test("a kept file is drawn as the experiment reads it", () => {
  expect(wantedOf({ file: REFERENCE, scale: 2 })).toEqual({ reference: REFERENCE, reading: {} });
  const columns = { rate: "dl in Mbit/s" };
  expect(wantedOf({ file: REFERENCE, format: "table", step: "1 s", columns })).toEqual({
    reference: REFERENCE,
    reading: { format: "table", step: "1 s", rate: "dl in Mbit/s" },
  });
});

test("a model is drawn with the parameters that are numbers already", () => {
  expect(wantedOf({ model: "lte" })).toEqual({ model: "lte", asked: { length: "60 s", seed: 1, parameters: {} } });
  expect(wantedOf({ model: "leo", seed: 3, length: "5 min", parameters: { snr_db: 4, x: "-" } })).toEqual({
    model: "leo",
    asked: { length: "5 min", seed: 3, parameters: { snr_db: 4 } },
  });
});

test("paths, other models and no recording are not drawn", () => {
  for (const value of [undefined, {}, "x", { file: "/etc/passwd" }, { file: "sha256:12" }, { model: "umts" }])
    expect(wantedOf(value)).toBeNull();
});
