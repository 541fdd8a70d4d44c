/** The next runs of the queue: their conditions, when they start, and for the owner the priority and the end of their experiment. */
import { useMutation } from "@tanstack/react-query";
import { answered, api, type Schemas } from "../../api/client";
import { useMay, useSession } from "../../api/session";
import { ErrorNote } from "../../parts/ErrorNote";
import { PrioritySelect } from "../../parts/PrioritySelect";
import { type Column, Table } from "../../parts/Table";
import { NONE, wait } from "../../units";
import { CancelButton } from "../run/Cancel";
import styles from "./Lab.module.css";
import { startsIn } from "./queueTimes";
import { NAME, NEEDS, OWNER, type Task } from "./taskColumns";

export function NextRuns({ queue }: { queue: Schemas["Queue"] }) {
  const now = useSession();
  const [isAdmin, mayRun] = [useMay("admin"), useMay("run")];
  const meta = { again: ["queue"] };
  const change = useMutation({
    mutationFn: ({ id, priority }: { id: string; priority: number }) =>
      answered(api.PATCH("/api/v1/experiments/{id}", { params: { path: { id } }, body: { priority } })),
    meta,
  });
  const cancel = useMutation({
    mutationFn: (id: string) => answered(api.POST("/api/v1/experiments/{id}/cancel", { params: { path: { id } } })),
    meta,
  });
  const starts = startsIn(queue);
  const owns = ({ owner }: Task): boolean => isAdmin || (mayRun && "name" in now && now.name === owner);
  const unfinished = ({ experiment_id }: Task): number =>
    [...queue.running, ...queue.next].filter((one) => one.experiment_id === experiment_id).length;
  const busy = change.isPending || cancel.isPending;
  const columns: readonly Column<Task>[] = [
    NAME,
    OWNER,
    {
      key: "priority",
      name: "Priority",
      cell: (task) =>
        task.experiment_id !== null && owns(task) ? (
          <PrioritySelect
            aria-label={`Priority of ${task.experiment}`}
            className={styles.priority}
            value={task.priority}
            disabled={busy}
            onChange={(priority) => change.mutate({ id: task.experiment_id ?? "", priority })}
          />
        ) : (
          task.priority
        ),
    },
    {
      key: "starts",
      name: "Starts in",
      number: true,
      cell: (task) => {
        const start = starts[queue.next.indexOf(task)];
        return about(start ?? null);
      },
    },
    { key: "takes", name: "Takes", number: true, cell: (task) => about(task.wall_estimate_s) },
    {
      key: "waits",
      name: "Queued for",
      number: true,
      cell: (task) => wait(Math.max(0, Date.now() / 1000 - task.queued_s)),
    },
    NEEDS,
    {
      key: "cancel",
      name: "",
      cell: (task) =>
        task.experiment_id !== null && owns(task) ? (
          <CancelButton
            name={task.experiment}
            runs={unfinished(task)}
            virtualS={task.virtual_s}
            busy={busy}
            onCancel={() => cancel.mutate(task.experiment_id ?? "")}
          />
        ) : null,
    },
  ];
  const refused = change.error ?? cancel.error;
  return (
    <>
      {refused !== null && <ErrorNote error={refused} />}
      <Table label="Next" columns={columns} rows={queue.next} rowKey={(task) => task.run} />
    </>
  );
}

/** An estimate, with two digits. */
function about(seconds: number | null): string {
  if (seconds === null) return NONE;
  return seconds < 1 ? "about 1 s" : `about ${wait(Number(seconds.toPrecision(2)))}`;
}
