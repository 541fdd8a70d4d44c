import { expect, test, vi } from "vitest";
import { draft } from "../draft";
import { parseText } from "../yamlText";
import { flowEntries } from "./edit";
import { changeControl, nameAfter } from "./flowNames";

vi.hoisted(() => vi.stubGlobal("document", { baseURI: "http://lab.example/" }));

/** The text after the first flow's congestion control was changed to BBR. */
function changed(text: string): string {
  draft.set({ ...draft.get(), text });
  const entries = flowEntries(parseText(text).data, null);
  const [first] = entries;
  if (first)
    changeControl(
      first,
      "bbr",
      entries.map((one) => one.name),
      null,
    );
  return draft.get().text;
}

test("a flow is named after its congestion control", () => {
  expect(nameAfter("cubic", [])).toBe("cubic");
  expect(nameAfter("cubic", ["cubic", "cubic-2"])).toBe("cubic-3");
  expect(nameAfter("htcp_be", ["cubic"])).toBe("htcp-be");
  expect(nameAfter("_", [])).toBe("flow");
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
