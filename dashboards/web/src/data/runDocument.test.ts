import { expect, test } from "vitest";
import { controlOf } from "./runDocument";

test("a control that replaces the kernel's is shown with its source, others by their name", () => {
  expect(controlOf({ cc: "cubic", variant: "cubic" })).toBe("cubic");
  expect(controlOf({ cc: "reno", variant: "newreno" })).toBe("reno");
  expect(controlOf({ cc: null })).toBe("–");
  expect(controlOf({ cc: "cubic", variant: "cubic (user-supplied 3f9a12c4)" })).toBe("cubic (user-supplied 3f9a12c4)");
  expect(controlOf({ cc: "reno", variant: "newreno, user-supplied 3f9a12c4" })).toBe(
    "reno (newreno, user-supplied 3f9a12c4)",
  );
});
