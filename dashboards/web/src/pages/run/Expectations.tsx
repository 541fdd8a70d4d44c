/** The expectations of a run, the missed ones first; empty without any. */

import { documentOf, type Run } from "../../data/runDocument";
import { Badge } from "../../parts/Badge";
import { Panel } from "../../parts/Panel";
import styles from "./RunPage.module.css";

export function Expectations({ run }: { run: Run }) {
  const { expect = [] } = documentOf(run);
  if (expect.length === 0) return null;
  const missedFirst = [...expect].sort((a, b) => Number(a.ok) - Number(b.ok));
  return (
    <Panel title="Expectations">
      <ul className={styles.checks}>
        {missedFirst.map((one) => (
          <li key={one.text}>
            <Badge tone={one.ok ? "good" : "warn"}>{one.ok ? "met" : "missed"}</Badge> {one.text}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
