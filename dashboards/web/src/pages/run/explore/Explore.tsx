/** Looks into a run beyond its charts, one at a time, in the window and with the pointer of the charts. Its code and its data are loaded
 * when a look is chosen.
 */
import { useState } from "react";
import type { Source } from "../../../charts/source";
import type { Span } from "../../../charts/span";
import type { Outline } from "../../../data/runDocument";
import { LabelledSelect } from "../../../parts/Select";
import styles from "./Explore.module.css";
import type { Look } from "./looks";
import { PhasePlots } from "./PhasePlots";
import { QueueMap } from "./QueueMap";
import { SequencePlot } from "./SequencePlot";
import { StatePlot } from "./StatePlot";

interface Props {
  run: string;
  look: Look;
  outline: Outline;
  source: Source;
  span: Span;
}

export default function Explore({ run, look, outline, source, span }: Props) {
  const flows = outline.flows.filter(({ kind }) => kind !== "udp").map(({ name }) => name);
  const [chosen, setChosen] = useState(flows[0] ?? "");
  const links = outline.links.map(({ name }) => name);
  if (look === "queue") return <QueueMap run={run} links={links} span={span} />;
  if (chosen === "") return <p>The run has no flow of TCP, and so no window.</p>;
  return (
    <div className={styles.look}>
      {flows.length > 1 && (
        <LabelledSelect label="Flow" look={styles.flow} value={chosen} choices={flows} onChange={setChosen} />
      )}
      {look === "phase" && <PhasePlots key={chosen} run={run} flow={chosen} span={span} />}
      {look === "states" && <StatePlot key={chosen} run={run} flow={chosen} source={source} span={span} />}
      {look === "sequence" && (
        <SequencePlot
          key={chosen}
          run={run}
          flow={chosen}
          span={span}
          captures={outline.backend === "sandbox" && outline.partial_s == null}
        />
      )}
    </div>
  );
}
