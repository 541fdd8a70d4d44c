import { expect, test, vi } from "vitest";
import { packed, read, unpacked } from "./draft";

vi.hoisted(() => vi.stubGlobal("document", { baseURI: "http://lab.example/prefix/" }));

test("a draft survives its link unchanged", async () => {
  const one = {
    text: "experiment: ü\n# 300 ms\n".repeat(50),
    backend: "mininet",
    where: "guest",
    clock: null,
    hosts: ["hk"],
    priority: 5,
    words: { title: "Überlast", tags: "night, chile", comment: "a\nb" },
  } as const;
  const word = await packed(one);
  expect(word).toMatch(/^[\w-]+$/);
  expect(word.length).toBeLessThan(300);
  expect(await unpacked(word)).toEqual(one);
});

test("an experiment as it was submitted has its words, and an earlier draft none", () => {
  const asked = { text: "", title: "One", tags: ["a", "b c"], comment: "" };
  expect(read(asked)?.words).toEqual({ title: "One", tags: "a, b c", comment: "" });
  expect(read({ text: "" })?.words).toEqual({ title: "", tags: "", comment: "" });
});

test.each(["", "x", "%%%", "eNrT0yMAAGTvBe8"])("an invalid draft is refused: %s", async (word) => {
  expect(await unpacked(word)).toBeNull();
});
