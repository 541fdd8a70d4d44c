/** Watch: one run, or one experiment with its runs, while it goes on and after. */
import type { PageProps } from "../props";
import { ExperimentPage } from "./ExperimentPage";
import { RunPage } from "./RunPage";

export default function Watch({ path: [noun, id = ""] }: PageProps) {
  return noun === "runs" ? <RunPage key={id} id={id} /> : <ExperimentPage key={id} id={id} />;
}
