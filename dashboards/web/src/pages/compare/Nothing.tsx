/** Explains the page while no runs are selected. */

import { linkTo } from "../../navigation/route";
import { Empty } from "../../parts/Empty";

export function Nothing({ map = false }: { map?: boolean }) {
  return (
    <Empty title={map ? "Which sweep?" : "Which runs?"}>
      {map ? (
        <p>
          Choose an experiment above that sweeps one or two fields. Each cell is a point; its colour shows a measure,
          and a click on it lists its runs.
        </p>
      ) : (
        <p>
          Add two or more of the runs above, or press Compare on the page of a <a href={linkTo(["runs"])}>run</a>. They
          are drawn on one time axis. The address contains the whole view, so you can share it.
        </p>
      )}
    </Empty>
  );
}
