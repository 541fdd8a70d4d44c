/** One line per paper: how many of its figures were run in this lab, and the verdicts on its claims. */

import { countVerdicts, type PaperRow, TONES, usePaper, usePapers } from "../../data/reproductions";
import { linkTo } from "../../navigation/hash";
import { text, writeView } from "../../navigation/viewState";
import { Badge } from "../../parts/Badge";
import { ErrorNote } from "../../parts/ErrorNote";
import { Waiting } from "../../parts/Waiting";
import styles from "./Start.module.css";

const SEARCH = { q: text() };

export function PapersState() {
  const papers = usePapers();
  if (papers.isError) return <ErrorNote error={papers.error} />;
  if (papers.isPending) return <Waiting height="11.25rem" />;
  const shown = papers.data.filter((paper) => paper.kind === "paper");
  return (
    <ul aria-label="Papers">
      {shown.map((paper) => (
        <Paper key={paper.paper} paper={paper} />
      ))}
    </ul>
  );
}

function Paper({ paper }: { paper: PaperRow }) {
  const { data } = usePaper(paper.paper, true);
  const known = data?.filter((figure) => figure[figure.extent].kept > 0) ?? [];
  const verdicts = countVerdicts(known.flatMap((figure) => figure.claims)).filter(([verdict]) => verdict !== "not run");
  return (
    <li className={styles.paper}>
      <a href={linkTo(["papers"], writeView(SEARCH, { q: paper.paper }))}>{paper.paper}</a>
      <span className={styles.runs} role="status">
        {data === undefined ? "…" : `${known.length} of ${data.length} ${data.length === 1 ? "figure" : "figures"} run`}
      </span>
      <span className={styles.verdicts}>
        {verdicts.map(([verdict, number]) => (
          <Badge key={verdict} tone={TONES[verdict]}>{`${number} ${verdict}`}</Badge>
        ))}
      </span>
    </li>
  );
}
