/** A recipe as a command line, as Python, as curl, and as a notebook. */
import type { Value } from "../pages/launch/yamlText";
import { hereDocument, pythonOf, shellWord } from "./literals";
import type { Recipe } from "./recipe";

/** The flags of `longhaul run` whose names differ from those of the arguments. */
const FLAGS: Readonly<Record<string, string>> = { where: "in" };

/** `yaml`: the text of the fields. */
export function commandLine({ name, experiment, options }: Recipe, yaml: string): string {
  const flags = Object.entries(options).flatMap(([option, value]) => {
    const flag = `--${FLAGS[option] ?? option}`;
    if (option === "set") return (value as string[]).map((change) => `${flag} ${shellWord(change)}`);
    return [`${flag} ${shellWord(Array.isArray(value) ? value.join(",") : String(value))}`];
  });
  const run = (file: string): string => `${["longhaul run", shellWord(file), ...flags].join(" ")}\n`;
  if (typeof experiment === "string") return run(experiment);
  const file = `${name.replaceAll("/", "-")}.yaml`;
  return `cat > ${shellWord(file)} <<${hereDocument(yaml)}\n${run(file)}`;
}

export function python(recipe: Recipe): string {
  return `import longhaul\n\n${assigned(recipe)}result = longhaul.run(${called(recipe)})\nprint(result)\n`;
}

export function client(recipe: Recipe, service: string): string {
  return `${opening(service)}\n${assigned(recipe)}result = client.submit_and_wait(${called(recipe)})\nprint(result)\n`;
}

export function curl({ experiment, options }: Recipe, service: string): string {
  const body = { ...(typeof experiment === "string" ? { shipped: experiment } : { spec: experiment }), ...options };
  return `curl -sf ${shellWord(`${service}/api/v1/experiments`)} \\
  -H "Authorization: Bearer $LONGHAUL_TOKEN" -H 'Content-Type: application/json' \\
  --data-binary @- <<${hereDocument(JSON.stringify(body, null, 2))}
`;
}

/** A Jupyter notebook that submits the recipe and draws the congestion windows. `page`: the address of the run or experiment. */
export function notebook(recipe: Recipe, service: string, page: string): string {
  const cells = [
    markdown(`# ${recipe.name}

Made from [this page](${page}). The notebook uses the service with the token in \`LONGHAUL_TOKEN\`, of scope \`run\`. Runs that are kept are not run again.`),
    code(opening(service)),
    code(`${assigned(recipe)}result = client.submit_and_wait(${called(recipe)})\nresult`),
    markdown("The congestion window of each TCP flow, of the first eight runs:"),
    code(DRAWING),
  ];
  const kernel = { display_name: "Python 3", language: "python", name: "python3" };
  return `${JSON.stringify({ cells, metadata: { kernelspec: kernel }, nbformat: 4, nbformat_minor: 4 }, null, 1)}\n`;
}

const DRAWING = `import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(8, 3))
for run in result.runs[:8]:
    for flow in run.get("flows", []):
        if flow.get("cwnd_packets"):
            window = client.series(run["run"], "cwnd", flow=flow["name"], points=2000)
            point = ", ".join(f"{name} {value}" for name, value in run.get("point", {}).items())
            label = ", ".join(filter(None, [flow["name"], point, f"seed {run['seed']}"]))
            axes.plot(window.t_s, window.value, label=label, linewidth=0.9)
axes.set(xlabel="time, s", ylabel="congestion window, packets")
axes.legend();`;

function opening(service: string): string {
  return `import os

from longhaul.client import Client

client = Client(${pythonOf(service)}, os.environ["LONGHAUL_TOKEN"])
`;
}

/** The line that names fields; a shipped experiment has a name already. */
function assigned({ experiment }: Recipe): string {
  return typeof experiment === "string" ? "" : `experiment = ${pythonOf(experiment)}\n`;
}

/** The arguments of a call. */
function called({ experiment, options }: Recipe): string {
  const first = typeof experiment === "string" ? pythonOf(experiment) : "experiment";
  return [first, ...Object.entries(options).map(([name, value]) => `${name}=${pythonOf(value as Value)}`)].join(", ");
}

function markdown(text: string) {
  return { cell_type: "markdown", metadata: {}, source: linesOf(text) };
}

function code(text: string) {
  return { cell_type: "code", execution_count: null, metadata: {}, outputs: [], source: linesOf(text) };
}

function linesOf(text: string): string[] {
  return text.trimEnd().split(/(?<=\n)/);
}
