/** Baselines: the experiments with which later ones of the same name are compared, by branch. */
import { useQuery } from "@tanstack/react-query";
import { answered, api, type Schemas } from "../../api/client";
import { linkTo } from "../../navigation/hash";
import { Ago } from "../../parts/Ago";
import { Badge } from "../../parts/Badge";
import { Empty } from "../../parts/Empty";
import { ErrorNote } from "../../parts/ErrorNote";
import { Panel } from "../../parts/Panel";
import { type Column, Table } from "../../parts/Table";
import { Waiting } from "../../parts/Waiting";

type Baseline = Schemas["Baseline"];

export function Baselines() {
  const asked = useQuery({ queryKey: ["baselines"], queryFn: () => answered(api.GET("/api/v1/baselines")) });
  if (asked.isError) return <ErrorNote error={asked.error} />;
  if (asked.isPending) return <Waiting height="30vh" />;
  if (asked.data.length === 0) {
    return (
      <Empty title="No baselines yet">
        <p>
          A baseline is the experiment with which CI compares later ones of the same name. Set one on the page of an
          experiment that has ended.
        </p>
      </Empty>
    );
  }
  return (
    <Panel title="Baselines">
      <Table label="Baselines" columns={COLUMNS} rows={asked.data} rowKey={(one) => `${one.name} ${one.branch}`} />
    </Panel>
  );
}

const COLUMNS: readonly Column<Baseline>[] = [
  { key: "name", name: "Experiment", cell: (one) => one.name, by: (one) => one.name },
  { key: "branch", name: "Branch", cell: (one) => one.branch, by: (one) => one.branch },
  {
    key: "baseline",
    name: "Baseline",
    cell: (one) => (
      <>
        <a href={linkTo(["experiments", one.experiment_id])}>{one.experiment_id.slice(0, 8)}</a>{" "}
        {one.other_programs.length > 0 && (
          <span title={one.other_programs.join("\n")}>
            <Badge tone="warn">other programs</Badge>
          </span>
        )}
      </>
    ),
  },
  { key: "set", name: "Set", cell: (one) => <Ago at={one.set_at} />, by: (one) => one.set_at },
  { key: "by", name: "By", cell: (one) => one.set_by, by: (one) => one.set_by },
];
