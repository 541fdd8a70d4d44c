/** The audit log, for admins: changes and refused attempts, the newest first. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import { text, useViewState } from "../../navigation/viewState";
import { Badge, type Tone } from "../../parts/Badge";
import { Button } from "../../parts/Button";
import { Empty } from "../../parts/Empty";
import { ErrorNote } from "../../parts/ErrorNote";
import { Panel } from "../../parts/Panel";
import { type Column, Table } from "../../parts/Table";
import { Waiting } from "../../parts/Waiting";
import { moment } from "../../units";
import styles from "./Lab.module.css";

interface Entry {
  id: number;
  at: string;
  actor: string;
  address: string;
  action: string;
  subject: string;
  outcome: number;
  request_id: string;
}

const PAGE = 100;
const VIEW = { q: text() };

export function Audit() {
  const [view, setView] = useViewState(VIEW);
  const asked = useInfiniteQuery({
    queryKey: ["audit"],
    queryFn: ({ pageParam }) =>
      answered(
        api.GET("/api/v1/audit", {
          params: { query: { limit: PAGE, ...(pageParam !== null && { before: pageParam }) } },
        }),
      ) as unknown as Promise<Entry[]>,
    initialPageParam: null as number | null,
    getNextPageParam: (page) => (page.length === PAGE ? page[PAGE - 1]?.id : undefined),
  });
  if (asked.isError) return <ErrorNote error={asked.error} />;
  if (asked.isPending) return <Waiting height="60vh" />;
  const words = view.q.toLowerCase().split(/\s+/);
  const rows = asked.data.pages
    .flat()
    .filter((entry) => words.every((word) => Object.values(entry).join(" ").toLowerCase().includes(word)));
  return (
    <Panel
      title="Audit"
      actions={
        <>
          <input
            type="search"
            className={styles.search}
            aria-label="Search loaded entries"
            placeholder="Search loaded entries"
            value={view.q}
            onChange={(event) => setView({ q: event.target.value })}
          />
          <Button onClick={() => void asked.refetch()} busy={asked.isRefetching}>
            Refresh
          </Button>
        </>
      }
    >
      {rows.length === 0 ? (
        <Empty title={view.q ? "No entries match" : "No entries yet"}>
          <p>
            The audit log records every request that changes something, or tries to: the user, the address and the
            outcome.
          </p>
        </Empty>
      ) : (
        <Table label="Audit" columns={COLUMNS} rows={rows} rowKey={(entry) => String(entry.id)} />
      )}
      {asked.hasNextPage && (
        <Button kind="quiet" busy={asked.isFetchingNextPage} onClick={() => void asked.fetchNextPage()}>
          Older
        </Button>
      )}
    </Panel>
  );
}

function toneOf(outcome: number): Tone {
  if (outcome < 400) return "good";
  return outcome === 401 || outcome === 403 || outcome >= 500 ? "bad" : "warn";
}

const COLUMNS: readonly Column<Entry>[] = [
  { key: "at", name: "Time", cell: (entry) => <span className={styles.when}>{moment(entry.at)}</span> },
  { key: "actor", name: "User", cell: (entry) => entry.actor || <span className="faint">not logged in</span> },
  { key: "action", name: "Action", cell: (entry) => entry.action.replaceAll("_", " ") },
  { key: "subject", name: "Subject", cell: (entry) => <code>{entry.subject.replace(/^\/api\/v1/, "")}</code> },
  {
    key: "outcome",
    name: "Outcome",
    cell: (entry) => <Badge tone={toneOf(entry.outcome)}>{String(entry.outcome)}</Badge>,
  },
  { key: "address", name: "Address", cell: (entry) => entry.address },
  { key: "request", name: "Request", cell: (entry) => <code className="faint">{entry.request_id}</code> },
];
