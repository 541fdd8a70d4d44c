/** Nothing is chosen yet: what this page shows, and how runs come here. */

import { linkTo } from "../../navigation/route";
import { Empty } from "../../parts/Empty";

export function Nothing({ map = false }: { map?: boolean }) {
  return (
    <Empty title={map ? "Which sweep?" : "Which runs?"}>
      {map ? (
        <p>
          Choose an experiment above that sweeps one or two things: each cell is a point, its colour the measure that
          you choose, and a press on it leads to its runs.
        </p>
      ) : (
        <p>
          Add two or more of the runs above, or press Compare on the page of a <a href={linkTo(["runs"])}>run</a>. They
          are drawn on one time axis; the address holds all that is shown, so it can be sent to others.
        </p>
      )}
    </Empty>
  );
}
