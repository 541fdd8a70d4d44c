/** Below the charts of a run: a choice of looks into it. The code of a look is loaded when one is chosen. */
import type { Source } from "../../charts/source";
import type { Span } from "../../charts/span";
import type { Outline } from "../../data/runDocument";
import { among, useViewState } from "../../navigation/viewState";
import { Panel } from "../../parts/Panel";
import { Segments } from "../../parts/Segments";
import { lazily, once } from "../loading";
import { LOOKS } from "./explore/looks";

const VIEW = { look: among(LOOKS, "") };
const Explore = lazily(
  once(() => import("./explore/Explore")),
  "24rem",
);

export function ExplorePanel(props: { run: string; outline: Outline; source: Source; span: Span }) {
  const [view, setView] = useViewState(VIEW);
  return (
    <Panel
      title="Explore"
      bare
      actions={
        <div className="strip">
          <Segments label="Look" choices={LOOKS} value={view.look} onChange={(look) => setView({ look })} />
        </div>
      }
    >
      {view.look !== "" && <Explore look={view.look} {...props} />}
    </Panel>
  );
}
