import { beforeAll, expect, test, vi } from "vitest";

let names: typeof import("./flowNames");
let draft: typeof import("../draft").draft;
let flowEntries: typeof import("./edit").flowEntries;
let parseText: typeof import("../yamlText").parseText;

beforeAll(async () => {
  vi.stubGlobal("window", { localStorage: { getItem: () => null, setItem: () => undefined } });
  vi.stubGlobal("document", { baseURI: "http://lab.example/" });
  names = await import("./flowNames");
  ({ draft } = await import("../draft"));
  ({ flowEntries } = await import("./edit"));
  ({ parseText } = await import("../yamlText"));
});

/** The text after the first flow's congestion control was changed to BBR. */
function changed(text: string): string {
  draft.set({ ...draft.get(), text });
  const entries = flowEntries(parseText(text).data, null);
  const [first] = entries;
  if (first)
    names.changeControl(
      first,
      "bbr",
      entries.map((one) => one.name),
      null,
    );
  return draft.get().text;
}

test("a flow is named after its congestion control", () => {
  expect(names.nameAfter("cubic", [])).toBe("cubic");
  expect(names.nameAfter("cubic", ["cubic", "cubic-2"])).toBe("cubic-3");
  expect(names.nameAfter("htcp_be", ["cubic"])).toBe("htcp-be");
  expect(names.nameAfter("_", [])).toBe("flow");
});

test("another congestion control takes the name along", () => {
  expect(changed("flows:\n  - {name: cubic, cc: cubic}\n")).toContain("{name: bbr, cc: bbr}");
  expect(changed("flows:\n  - {name: cubic-2, cc: cubic}\n  - {name: bbr, cc: bbr}\n")).toContain(
    "{name: bbr-2, cc: bbr}",
  );
});

test("a name of the user, or one that the experiment mentions, stays", () => {
  expect(changed("flows:\n  - {name: app, cc: cubic}\n")).toContain("{name: app, cc: bbr}");
  for (const more of [
    "expect: [{measure: goodput, flow: cubic}]",
    "sweep: {flows.cubic.rtt: [1 ms]}",
    "schedule: [{at: 1 s, flows: {cubic: {}}}]",
  ])
    expect(changed(`flows:\n  - {name: cubic, cc: cubic}\n${more}\n`)).toContain("{name: cubic, cc: bbr}");
});
