/** The experiment as a form: every section edits the text and shows its values. */
import { ExpectSection } from "./ExpectSection";
import { FlowSection } from "./FlowSection";
import styles from "./Form.module.css";
import { PathSection } from "./PathSection";
import { PhaseSection } from "./PhaseSection";
import { PlaceSection } from "./PlaceSection";
import { RunSection } from "./RunSection";
import { ScheduleSection } from "./ScheduleSection";
import { SweepSection } from "./SweepSection";

/** `unreadable`: the text does not parse, so fields have no position in it. */
export function Form({ unreadable }: { unreadable: boolean }) {
  return (
    <div
      className={styles.form}
      inert={unreadable}
      title={unreadable ? "Correct the text first: it is not valid YAML." : undefined}
    >
      <RunSection />
      <PathSection />
      <FlowSection />
      <ScheduleSection />
      <PhaseSection />
      <SweepSection />
      <ExpectSection />
      <PlaceSection />
    </div>
  );
}
