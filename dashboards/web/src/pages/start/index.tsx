/** The start page: running work, the latest experiments and the papers; in a lab without runs, the first steps. */
import { useQuery } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import { isLive, listOf, VIEW } from "../../data/runList";
import { linkTo } from "../../navigation/hash";
import { go } from "../../navigation/route";
import { writeView } from "../../navigation/viewState";
import { ErrorNote } from "../../parts/ErrorNote";
import { FileNote } from "../../parts/FileNote";
import { Panel } from "../../parts/Panel";
import { useFileOpener } from "../../parts/useFileOpener";
import { Waiting } from "../../parts/Waiting";
import { FirstSteps } from "./FirstSteps";
import { Latest } from "./Latest";
import { PapersState } from "./PapersState";

const LATEST = 8;
const LIVE_POLL_MS = 2000;
const POLL_MS = 15_000;

export default function Start() {
  const opener = useFileOpener(openInLaunch);
  return (
    <>
      <FileNote opener={opener} />
      <State />
    </>
  );
}

async function openInLaunch(file: File): Promise<string | null> {
  const { openFile } = await import("../launch/experimentFile");
  const refused = await openFile(file);
  if (refused === null) go(linkTo(["launch"]));
  return refused;
}

function State() {
  const { data, error } = useQuery({
    queryKey: ["experiments", "latest"],
    queryFn: () => answered(api.GET("/api/v1/experiments", { params: { query: { limit: LATEST } } })),
    refetchInterval: (query) => (query.state.data?.items.some(isLive) ? LIVE_POLL_MS : POLL_MS),
  });
  if (error) return <ErrorNote error={error} />;
  if (data === undefined) return <Waiting height="60vh" />;
  if (data.items.length === 0) return <FirstSteps />;
  const live = data.items.filter(isLive);
  return (
    <div className="stack">
      <h1 className="unseen">Overview of the lab</h1>
      <Panel title="In progress" actions={<a href={linkTo(["lab"])}>Queue</a>}>
        {live.length > 0 ? (
          <Latest label="Experiments in progress" rows={live} />
        ) : (
          <p className="soft">
            No experiment is queued or running. <a href={linkTo(["launch"])}>Launch an experiment</a>
          </p>
        )}
      </Panel>
      <Panel
        title="Latest experiments"
        actions={<a href={linkTo(["runs"], writeView(VIEW, { what: "experiments" }))}>All experiments</a>}
      >
        <Latest label="Latest experiments" rows={data.items.filter((row) => !isLive(row))} />
      </Panel>
      <Panel title="Papers" actions={<a href={linkTo(["papers"])}>All figures</a>}>
        <PapersState />
      </Panel>
      <p className="soft">
        <a href={listOf({ status: "failed" })}>Failed runs</a> ·{" "}
        <a href={listOf({ status: "missed" })}>Runs that missed an expectation</a>
      </p>
    </div>
  );
}
