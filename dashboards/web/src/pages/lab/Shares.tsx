/** Links that share results: the user's own, for admins all, and their end. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { answered, api, type Schemas } from "../../api/client";
import { useMay } from "../../api/session";
import { Ago } from "../../parts/Ago";
import { Badge } from "../../parts/Badge";
import { Button } from "../../parts/Button";
import { Empty } from "../../parts/Empty";
import { ErrorNote } from "../../parts/ErrorNote";
import { Panel } from "../../parts/Panel";
import { type Column, Table } from "../../parts/Table";
import { Waiting } from "../../parts/Waiting";
import { count, wait } from "../../units";

type Share = Schemas["ShareLink"];

export function Shares() {
  const isAdmin = useMay("admin");
  const asked = useQuery({ queryKey: ["shares"], queryFn: () => answered(api.GET("/api/v1/shares")) });
  const revoke = useMutation({
    mutationFn: (share: string) => answered(api.DELETE("/api/v1/shares/{share}", { params: { path: { share } } })),
    meta: { again: ["shares"] },
  });
  if (asked.isError) return <ErrorNote error={asked.error} />;
  if (asked.isPending) return <Waiting height="30vh" />;
  if (asked.data.length === 0) {
    return (
      <Empty title="Nothing is shared">
        <p>Share on the page of a run, an experiment or a comparison makes a link that shows it without an account.</p>
      </Empty>
    );
  }
  const columns = isAdmin ? COLUMNS : COLUMNS.filter(({ key }) => key !== "owner");
  return (
    <Panel title="Shares">
      {revoke.isError && <ErrorNote error={revoke.error} />}
      <Table
        label="Shares"
        columns={[...columns, endColumn((share) => revoke.mutate(share), revoke.isPending)]}
        rows={asked.data}
        rowKey={(share) => share.id}
      />
    </Panel>
  );
}

function isActive(share: Share): boolean {
  return share.revoked_at === null && share.expires_s > Date.now() / 1000;
}

function nameOf({ runs, experiment_id }: Share): string {
  if (experiment_id !== null) return `Experiment ${experiment_id.slice(0, 8)}`;
  return runs.length === 1 ? `Run ${runs[0]?.slice(0, 8)}` : `Comparison of ${count(runs.length)} runs`;
}

const COLUMNS: readonly Column<Share>[] = [
  { key: "what", name: "Result", cell: (share) => <a href={`#/${share.view}`}>{nameOf(share)}</a> },
  { key: "owner", name: "Owner", cell: (share) => share.owner, by: (share) => share.owner },
  { key: "created", name: "Created", cell: (share) => <Ago at={share.created_at} />, by: (share) => share.created_at },
  {
    key: "expires",
    name: "Expires",
    cell: (share) => (isActive(share) ? `in ${wait(share.expires_s - Date.now() / 1000)}` : "–"),
    by: (share) => share.expires_s,
  },
];

function endColumn(onRevoke: (share: string) => void, busy: boolean): Column<Share> {
  return {
    key: "state",
    name: "",
    cell: (share) =>
      isActive(share) ? (
        <Button busy={busy} onClick={() => onRevoke(share.id)} aria-label={`Revoke ${nameOf(share)}`}>
          Revoke
        </Button>
      ) : (
        <Badge tone="neutral">{share.revoked_at === null ? "expired" : "revoked"}</Badge>
      ),
  };
}
