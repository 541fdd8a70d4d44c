import { expect, test } from "vitest";
import { locationOf, mistakeAt, mistakesOf } from "./problems";

const DATA = { path: { rtt: "1 ms" }, flows: [{ name: "app", cc: "cubic" }], sweep: { "path.rtt": ["1 ms"] } };

test.each([
  ["flows.app.sender", ["flows", 0, "sender"]],
  ["path.buffer", ["path", "buffer"]],
  ["flows.unknown", ["flows"]],
  ["two at path.rtt=1 ms", ["sweep"]],
  ["sandbox", []],
])("the subject %s stands at %s", (subject, location) => {
  expect(locationOf(subject, DATA)).toEqual(location);
});

test("errors are located at the fields that the service names", () => {
  const what = "allowed: one of cubic, reno, nearest: cubic";
  const body = {
    fields: [{ location: ["flows", 0, "cc"], field: "flows.app.cc", what, nearest: "cubic" }],
    problems: ["flows.app.cc: ..."],
  };
  const [mistake] = mistakesOf(body, DATA);
  expect(mistake).toEqual({
    location: ["flows", 0, "cc"],
    field: "flows.app.cc",
    message: "Allowed: one of cubic, reno",
    nearest: "cubic",
    misnamed: false,
  });
  expect(mistakeAt(mistake ? [mistake] : [], ["flows", 0, "cc"])).toBe(mistake);
  expect(mistakeAt(mistake ? [mistake] : [], ["flows"])).toBeUndefined();
  expect(mistakeAt(mistake ? [mistake] : [], ["flows"], { below: true })).toBe(mistake);
});

test("an error of the whole experiment contains cause and remedy", () => {
  const body = { subject: "lab", what: "it is full", hint: "wait", detail: "..." };
  expect(mistakesOf(body, DATA)).toEqual([
    { location: [], field: "", message: "it is full; wait", nearest: null, misnamed: false },
  ]);
});
