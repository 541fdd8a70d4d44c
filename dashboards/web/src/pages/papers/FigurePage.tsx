/** One figure: each claim, published and measured, the reason for differences, the charts, and links to the runs. */

import { problemOf } from "../../api/problem";
import { type Claim, type Figure, isLive, useFigure, usePapers } from "../../data/reproductions";
import { listOf } from "../../data/runList";
import { linkTo } from "../../navigation/hash";
import { useOwnTitle } from "../../navigation/title";
import { oneOf, useViewState } from "../../navigation/viewState";
import { Button } from "../../parts/Button";
import { Empty } from "../../parts/Empty";
import { ErrorNote } from "../../parts/ErrorNote";
import { Segments } from "../../parts/Segments";
import { Waiting } from "../../parts/Waiting";
import { count, share } from "../../units";
import { Citation } from "./Citation";
import styles from "./Papers.module.css";
import { Pictures } from "./Pictures";
import { estimate, Progress, Runner } from "./Progress";
import { Unknown } from "./Unknown";
import { VerdictBadge } from "./Verdicts";

const VIEW = { extent: oneOf(["", "quick", "full"], "") };

export function FigurePage({ paper, name }: { paper: string; name: string }) {
  const [view, setView] = useViewState(VIEW);
  const papers = usePapers();
  useOwnTitle(`${paper} ${name}`);
  const asked = useFigure(paper, name, view.extent === "" ? null : view.extent);
  const row = papers.data?.find((one) => one.paper === paper);
  const back = <a href={linkTo(["papers"])}>All papers</a>;
  if (asked.isError && problemOf(asked.error).status === 404)
    return <Unknown what={`figure ${name} of ${paper}`} known={problemOf(asked.error).sentence} />;
  if (asked.isError)
    return <ErrorNote error={asked.error} action={<Button onClick={() => void asked.refetch()}>Try again</Button>} />;
  // The citation is above the claims, and would push them down if it appeared later.
  if (asked.isPending || papers.isPending) return <Waiting height="60vh" />;
  const figure = asked.data;
  const none = figure[figure.extent].kept === 0 && !isLive(figure);
  return (
    <article className={styles.figure}>
      <p className={styles.crumbs}>
        {back} <span aria-hidden="true">/</span> {paper}{" "}
        <Neighbours figures={row?.figures.map((one) => one.figure) ?? []} paper={paper} name={name} />
      </p>
      <header className={styles.top}>
        <h1>
          {paper} {name}
        </h1>
        {figure.quick.runs !== figure.full.runs && (
          <Segments
            label="Runs"
            choices={[
              ["quick", "Quick"],
              ["full", "Full"],
            ]}
            value={figure.extent}
            onChange={(extent) => setView({ extent })}
          />
        )}
      </header>
      <p className="lead">{figure.about}.</p>
      {row && (
        <p className={styles.cited}>
          <Citation text={row.citation} />
        </p>
      )}
      <div className={styles.actions}>
        <Runner figure={figure} />
        <Progress figure={figure} />
        <Runs figure={figure} />
      </div>
      {none && <NotRun figure={figure} />}
      <Claims figure={figure} />
      <Pictures figure={figure} />
    </article>
  );
}

function NotRun({ figure }: { figure: Figure }) {
  return (
    <Empty title="Not run yet">
      <p>
        The table shows the published values; measured values appear when the figure is run: {estimate(figure, "quick")}{" "}
        for the quick form{figure.quick.runs !== figure.full.runs && `, ${estimate(figure, "full")} for the full form`}.
        Kept runs are not run again.
      </p>
    </Empty>
  );
}

function Runs({ figure }: { figure: Figure }) {
  const { runs, kept, failed, live } = figure[figure.extent];
  return (
    <span className={styles.faint}>
      {live === 0 && `${count(kept)} of ${count(runs)} runs kept`}
      {failed > 0 && `, ${count(failed)} failed`}
      {kept + failed > 0 && (
        <>
          {" "}
          {Object.entries(figure.experiments).map(([shipped, name]) => (
            <a key={shipped} href={listOf({ name })}>
              {shipped}
            </a>
          ))}
        </>
      )}
    </span>
  );
}

function Claims({ figure }: { figure: Figure }) {
  if (figure.claims.length === 0) return null;
  return (
    <table className={styles.claims} aria-label="Claims">
      <thead>
        <tr>
          <th scope="col">Claim</th>
          <th scope="col">Published</th>
          <th scope="col">Measured</th>
          <th scope="col">Verdict</th>
        </tr>
      </thead>
      <tbody>
        {figure.claims.map((claim) => (
          <ClaimRow key={claim.claim} claim={claim} />
        ))}
      </tbody>
    </table>
  );
}

function ClaimRow({ claim }: { claim: Claim }) {
  return (
    <tr>
      <td>
        <strong>{claim.claim}</strong> {claim.words}
        <span className={styles.grade}>
          {claim.class}
          {claim.gate && ", gate"}
        </span>
        {claim.why && <p className={styles.why}>{claim.why}</p>}
      </td>
      <td data-name="published">{claim.published}</td>
      <td data-name="measured">
        {claim.measured ? (
          <a
            href={listOf({ name: claim.experiment, ...(claim.point && { q: pointWords(claim.point) }) })}
            title="Runs of this value"
          >
            {claim.measured}
          </a>
        ) : (
          <span className={styles.faint}>–</span>
        )}
      </td>
      <td>
        <VerdictBadge verdict={claim.verdict} />
        {claim.off !== null && claim.off > 0 && <span className={styles.off}>by {share(claim.off)}</span>}
      </td>
    </tr>
  );
}

/** The search words that find the runs of a point. */
function pointWords(point: Readonly<Record<string, string>>): string {
  return Object.entries(point)
    .map(([field, value]) => `${field}=${value.replace(/(\d) (?=[a-zA-Zµ%])/g, "$1").replaceAll(" ", "-")}`)
    .join(" ");
}

function Neighbours({ figures, paper, name }: { figures: readonly string[]; paper: string; name: string }) {
  const at = figures.indexOf(name);
  const [before, after] = [figures[at - 1], figures[at + 1]];
  return (
    <span className={styles.neighbours}>
      {before && <a href={linkTo(["papers", paper, before])}>← {before}</a>}
      {at >= 0 && after && <a href={linkTo(["papers", paper, after])}>{after} →</a>}
    </span>
  );
}
