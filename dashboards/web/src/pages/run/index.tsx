/** The page of one run, or of one experiment with its runs. */
import type { PageProps } from "../props";
import { ExperimentPage } from "./ExperimentPage";
import { RunPage } from "./RunPage";

export default function Watch({ path: [noun, id = ""] }: PageProps) {
  return noun === "runs" ? <RunPage key={id} id={id} /> : <ExperimentPage key={id} id={id} />;
}
