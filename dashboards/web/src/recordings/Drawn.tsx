/** A recording, drawn when it has been read; the charts are loaded with the first one. */
import { lazy, Suspense } from "react";
import { ErrorNote } from "../parts/ErrorNote";
import { Waiting } from "../parts/Waiting";
import { useShown, type Wanted } from "./queries";

const RecordingCharts = lazy(() => import("./RecordingCharts"));

export function Drawn({ wanted, name }: { wanted: Wanted; name: string }) {
  const { data, error } = useShown(wanted);
  if (error) return <ErrorNote error={error} />;
  const waiting = <Waiting label="The recording is being read" height="9rem" />;
  if (data === undefined) return waiting;
  return (
    <Suspense fallback={waiting}>
      <RecordingCharts shown={data} name={name} />
    </Suspense>
  );
}
