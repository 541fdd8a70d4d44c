/** The experiment as a form: every part writes into the text, and shows what the text says. */
import { ExpectSection } from "./ExpectSection";
import { FlowSection } from "./FlowSection";
import styles from "./Form.module.css";
import { PathSection } from "./PathSection";
import { PhaseSection } from "./PhaseSection";
import { PlaceSection } from "./PlaceSection";
import { RunSection } from "./RunSection";
import { ScheduleSection } from "./ScheduleSection";
import { SweepSection } from "./SweepSection";

/** `unreadable`: nobody could say where in the text a field would be. */
export function Form({ unreadable }: { unreadable: boolean }) {
  return (
    <div
      className={styles.form}
      inert={unreadable}
      title={unreadable ? "The text cannot be read as it is." : undefined}
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
