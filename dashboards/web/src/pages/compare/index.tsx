/** Compare: overlaid runs, differences, distributions, fairness, and heat maps of sweeps. */

import { useMay } from "../../api/session";
import { among, list, place, text, useViewState } from "../../navigation/viewState";
import { Segments } from "../../parts/Segments";
import { ShareButton } from "../../sharing/ShareButton";
import { Chooser } from "./Chooser";
import styles from "./Compare.module.css";
import { differingIn } from "./conditions";
import { Differences } from "./Differences";
import { Distributions } from "./Distributions";
import { drawnOf } from "./drawn";
import { Fairness } from "./Fairness";
import { InputDifferences } from "./InputDifferences";
import { Multiples } from "./Multiples";
import { Nothing } from "./Nothing";
import { Overlay } from "./Overlay";
import { SweepMap } from "./SweepMap";
import { useCompared } from "./useCompared";

const SHOWS = [
  ["overlay", "Overlay"],
  ["multiples", "Side by side"],
  ["differences", "Differences"],
  ["spread", "Distributions"],
  ["fairness", "Fairness"],
  ["map", "Heat map"],
] as const;

const VIEW = { runs: list(), from: place(), experiment: text(), show: among(SHOWS, "overlay") };

export default function Compare() {
  const [view, setView] = useViewState(VIEW);
  const drawn = drawnOf(view.runs, view.from);
  const compared = useCompared(drawn.ids);
  const mayRead = useMay("read");
  const needsRuns = view.show !== "map";
  return (
    <div className="stack">
      <header className={styles.head}>
        <h1>Compare</h1>
        <div className="strip">
          <Segments
            label="View"
            choices={SHOWS}
            value={view.show}
            onChange={(show) => setView({ show }, { push: true })}
          />
          {compared.runs.length > 0 && needsRuns && (
            <ShareButton what={{ runs: [...view.runs] }} name="this comparison" />
          )}
        </div>
      </header>
      {mayRead && (needsRuns || view.experiment === "") && (
        <Chooser runs={view.runs} drawn={drawn} experiment={view.experiment} compared={compared} onView={setView} />
      )}
      {needsRuns && view.show !== "differences" && <InputDifferences differing={differingIn(compared.runs)} />}
      {needsRuns && view.runs.length === 0 ? (
        <Nothing />
      ) : needsRuns && compared.runs.length === 0 && compared.failed.length > 0 ? (
        <p className="soft">None of these runs can be drawn. Choose others above.</p>
      ) : (
        <>
          {view.show === "overlay" && <Overlay compared={compared} />}
          {view.show === "multiples" && <Multiples compared={compared} />}
          {view.show === "differences" && <Differences runs={drawn.ids} compared={compared} />}
          {view.show === "spread" && <Distributions compared={compared} />}
          {view.show === "fairness" && <Fairness compared={compared} />}
          {view.show === "map" &&
            (view.experiment === "" ? <Nothing map /> : <SweepMap experiment={view.experiment} />)}
        </>
      )}
    </div>
  );
}
