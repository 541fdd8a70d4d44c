import { expect, test } from "vitest";
import { hereDocument, pythonOf, shellWord } from "./literals";
import { type Fields, type Recipe, recipeOf } from "./recipe";
import { client, commandLine, curl, notebook, python } from "./texts";

const SERVICE = "http://lab.example:8080/prefix";
const ASKED = {
  shipped: null,
  changes: [],
  where: null,
  clock: null,
  hosts: [],
  seed: null,
  repeats: null,
  priority: 0,
};
const FIELDS: Fields = {
  experiment: "swept",
  path: { rtt: "40 ms", ecn: true },
  sweep: { "path.rtt": ["20 ms", "0.08 s"], "path.loss": [0.00001, 0] },
  repeats: 2,
};
const SWEPT = { name: "swept", asked: ASKED, backend: "sandbox", progress: { total: 8 } as never };
const SHIPPED = {
  ...SWEPT,
  name: "quick",
  asked: { ...ASKED, shipped: "quick", changes: ["path.rtt=80 ms"], repeats: 2 },
};

test("a shipped experiment is named with its changes", () => {
  const recipe = recipeOf(SHIPPED, FIELDS, null);
  expect(commandLine(recipe, "")).toBe("longhaul run quick --set 'path.rtt=80 ms' --repeats 2\n");
  expect(python(recipe)).toBe(
    'import longhaul\n\nresult = longhaul.run("quick", set=["path.rtt=80 ms"], repeats=2)\nprint(result)\n',
  );
  expect(curl(recipe, SERVICE)).toContain(
    '"shipped": "quick",\n  "set": [\n    "path.rtt=80 ms"\n  ],\n  "repeats": 2',
  );
  expect(client(recipe, SERVICE)).toContain(`client = Client("${SERVICE}", os.environ["LONGHAUL_TOKEN"])`);
});

test("one run of a sweep has its point and its seed, with values as they were written", () => {
  const run = { point: { "path.rtt": "0.08 s", "path.loss": "1e-05" }, seed: 8 };
  const shipped = recipeOf(SHIPPED, FIELDS, run);
  expect(commandLine(shipped, "")).toBe(
    `longhaul run quick --set 'path.rtt=80 ms' --set 'sweep={"path.rtt":["0.08 s"],"path.loss":[0.00001]}' --seed 8 --repeats 1\n`,
  );
  const { experiment, options } = recipeOf(SWEPT, FIELDS, run);
  expect(options).toEqual({});
  expect(experiment).toEqual({
    experiment: "swept",
    path: { rtt: "40 ms", ecn: true },
    sweep: { "path.rtt": ["0.08 s"], "path.loss": [0.00001] },
    seed: 8,
  });
  const points: Fields = { ...FIELDS, sweep: [{ "path.rtt": "20 ms" }, { "path.rtt": "0.08 s" }] };
  expect(recipeOf(SWEPT, points, { point: { "path.rtt": "20 ms" }, seed: 1 }).experiment).toMatchObject({
    sweep: { "path.rtt": ["20 ms"] },
  });
});

test("the only run of an experiment has the recipe of the experiment", () => {
  const alone = { ...SHIPPED, progress: { total: 1 } as never };
  expect(recipeOf(alone, FIELDS, { point: {}, seed: 1 })).toEqual(recipeOf(alone, FIELDS, null));
});

test("another backend keeps its place and its hosts", () => {
  const asked = { ...ASKED, where: "guest", clock: "real", hosts: ["hk", "oslo"] };
  const recipe = recipeOf({ ...SWEPT, asked, backend: "mininet" }, FIELDS, null);
  expect(commandLine(recipe, "experiment: swept\n")).toBe(
    "cat > swept.yaml <<'END'\nexperiment: swept\nEND\nlonghaul run swept.yaml --backend mininet --in guest --clock real --hosts hk,oslo\n",
  );
  expect(python(recipe)).toContain('backend="mininet", where="guest", clock="real", hosts=["hk", "oslo"])');
});

test("Python has its own words, and long values have lines of their own", () => {
  expect(pythonOf({ a: [true, false, null, 1e-7], "ü\n": "'\"" })).toBe(
    '{"a": [True, False, None, 1e-7], "ü\\n": "\'\\""}',
  );
  const long = "x".repeat(60);
  expect(pythonOf({ a: [long, long], b: 1 })).toBe(
    `{\n    "a": [\n        "${long}",\n        "${long}",\n    ],\n    "b": 1,\n}`,
  );
});

test("a shell takes texts as they are", () => {
  expect(shellWord("path.rtt=80ms")).toBe("path.rtt=80ms");
  expect(shellWord("it's $HOME")).toBe("'it'\\''s $HOME'");
  expect(hereDocument("a\nEND\n$b")).toBe("'END_'\na\nEND\n$b\nEND_");
});

test("a notebook has cells of code and text", () => {
  const recipe: Recipe = recipeOf(SHIPPED, FIELDS, null);
  const made = JSON.parse(notebook(recipe, SERVICE, `${SERVICE}/#/runs/1`)) as {
    cells: { cell_type: string; source: string[] }[];
  };
  expect(made.cells.map((cell) => cell.cell_type)).toEqual(["markdown", "code", "code", "markdown", "code"]);
  expect(made.cells[2]?.source.join("")).toBe(
    'result = client.submit_and_wait("quick", set=["path.rtt=80 ms"], repeats=2)\nresult',
  );
});
