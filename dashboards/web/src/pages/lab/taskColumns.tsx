/** Columns that running and waiting runs share. */
import type { Schemas } from "../../api/client";
import { shortField } from "../../data/runList";
import { linkTo } from "../../navigation/hash";
import type { Column } from "../../parts/Table";
import { spellNumber } from "../../units";

export type Task = Schemas["Task"];

/** The name of the experiment with what distinguishes the run from the others: its swept values and its seed. */
function TaskName({ task }: { task: Task }) {
  const point = Object.entries(task.point).map(([field, value]) => `${shortField(field)} ${spellNumber(value)}`);
  return (
    <>
      <a href={linkTo(["runs", task.run])}>{task.experiment}</a>{" "}
      <span className="faint">{[...point, `seed ${task.seed}`].join(", ")}</span>
    </>
  );
}

export const NAME: Column<Task> = { key: "run", name: "Run", cell: (task) => <TaskName task={task} /> };
export const OWNER: Column<Task> = { key: "owner", name: "Owner", cell: (task) => task.owner };
export const NEEDS: Column<Task> = {
  key: "needs",
  name: "Needs",
  cell: (task) =>
    ({ sandbox: "a slot", programs: "a slot", alone: "a machine", root: "a machine's root" })[task.needs] ?? task.needs,
};
