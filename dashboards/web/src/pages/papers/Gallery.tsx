/** All papers with their figures and verdicts. Figures are requested when they come into sight. */
import { useEffect, useMemo, useRef, useState } from "react";
import { type Preset, useGallery } from "../../data/gallery";
import { type Figure, type FigureRow, type PaperRow, usePaper, usePapers } from "../../data/reproductions";
import { linkTo } from "../../navigation/hash";
import { useShortcut } from "../../navigation/shortcuts";
import { oneOf, text, useViewState } from "../../navigation/viewState";
import { Empty } from "../../parts/Empty";
import { ErrorNote } from "../../parts/ErrorNote";
import { Miniature } from "../../parts/Miniature";
import { Segments } from "../../parts/Segments";
import { Waiting } from "../../parts/Waiting";
import { Citation } from "./Citation";
import styles from "./Papers.module.css";
import { Progress, Runner } from "./Progress";
import { VerdictCounts } from "./Verdicts";

type Picture = Preset["miniature"];

const VIEW = { kind: oneOf(["paper", "pack"], "paper"), q: text() };

export function Gallery() {
  const papers = usePapers();
  const [view, setView] = useViewState(VIEW);
  const search = useRef<HTMLInputElement>(null);
  useShortcut("/", "Search", () => search.current?.focus());
  if (papers.isError) return <ErrorNote error={papers.error} />;
  if (papers.isPending) return <Waiting height="60vh" />;
  const shown = papers.data
    .filter((paper) => paper.kind === view.kind)
    .map((paper) => ({ ...paper, figures: paper.figures.filter((figure) => matches(paper, figure, view.q)) }))
    .filter((paper) => paper.figures.length > 0);
  return (
    <>
      <header className={styles.top}>
        <h1>{view.kind === "paper" ? "Papers" : "Packs"}</h1>
        <Segments
          label="Kind"
          choices={[
            ["paper", "Papers"],
            ["pack", "Packs"],
          ]}
          value={view.kind}
          onChange={(kind) => setView({ kind })}
        />
        <input
          ref={search}
          type="search"
          aria-label="Search"
          placeholder="Search figures"
          value={view.q}
          onChange={(event) => setView({ q: event.target.value })}
        />
      </header>
      <p className="lead">
        {view.kind === "paper"
          ? "Published results, compared with real Linux TCP in this lab. Run on a card runs the fewest points that decide the figure's claims."
          : "Requirements of drafts and RFCs for congestion controls, as experiments with a verdict each."}
      </p>
      {shown.map((paper) => (
        <Paper key={paper.paper} paper={paper} />
      ))}
      {shown.length === 0 && (
        <Empty title="No figure matches">
          <p>Search by the name of a paper or a figure, or by a word of its description.</p>
        </Empty>
      )}
    </>
  );
}

function Paper({ paper }: { paper: PaperRow }) {
  const place = useRef<HTMLElement>(null);
  const seen = useSeen(place);
  const found = usePaper(paper.paper, seen);
  const gallery = useGallery();
  const pictures = useMemo(
    () => new Map(gallery.data?.experiments.map(({ experiment, miniature }) => [experiment, miniature])),
    [gallery.data],
  );
  const known = new Map(found.data?.map((figure) => [figure.figure, figure]));
  return (
    <section ref={place} className={styles.paper} aria-labelledby={`paper-${paper.paper}`}>
      <header className={styles.citation}>
        <h2 id={`paper-${paper.paper}`}>{paper.paper}</h2>
        <p>
          <Citation text={paper.citation} />
        </p>
      </header>
      {found.isError && <ErrorNote error={found.error} />}
      <ul className={styles.cards}>
        {paper.figures.map((figure) => (
          <Card
            key={figure.figure}
            paper={paper.paper}
            row={figure}
            figure={known.get(figure.figure)}
            picture={pictureOf(pictures, figure)}
          />
        ))}
      </ul>
    </section>
  );
}

/** The picture of the first shipped experiment of a figure. */
function pictureOf(pictures: ReadonlyMap<string, Picture>, { experiments }: FigureRow): Picture | undefined {
  return experiments.map((name) => pictures.get(name)).find((picture) => picture !== undefined);
}

interface CardProps {
  paper: string;
  row: FigureRow;
  figure: Figure | undefined;
  picture: Picture | undefined;
}

function Card({ paper, row, figure, picture }: CardProps) {
  return (
    <li className={styles.card}>
      <h3>
        <a href={linkTo(["papers", paper, row.figure])}>{row.figure}</a>
      </h3>
      <p className={styles.about}>{row.about}</p>
      {picture && <Miniature picture={picture} />}
      <div className={styles.state}>
        {figure === undefined ? (
          <span className={styles.faint}>…</span>
        ) : (
          <>
            <FigureStatus figure={figure} />
            <Runner figure={figure} brief />
          </>
        )}
      </div>
    </li>
  );
}

function FigureStatus({ figure }: { figure: Figure }) {
  if (figure.quick.live + figure.full.live > 0) return <Progress figure={figure} />;
  if (figure[figure.extent].kept === 0) return <span className={styles.faint}>not run</span>;
  return <VerdictCounts claims={figure.claims} />;
}

function matches(paper: PaperRow, figure: FigureRow, q: string): boolean {
  const text =
    `${paper.paper} ${paper.citation} ${figure.figure} ${figure.about} ${figure.experiments.join(" ")}`.toLowerCase();
  return q
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** Whether it was ever in sight, or close to it. */
function useSeen(place: React.RefObject<HTMLElement | null>): boolean {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const element = place.current;
    if (element === null || seen) return;
    const watch = new IntersectionObserver((found) => found.some((one) => one.isIntersecting) && setSeen(true), {
      rootMargin: "300px",
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, [place, seen]);
  return seen;
}
