/** Papers: the gallery of reproductions, `#/papers`, and one figure, `#/papers/apptcp/fig6`. */
import type { PageProps } from "../props";
import { FigurePage } from "./FigurePage";
import { Gallery } from "./Gallery";

export default function Papers({ path: [paper, figure] }: PageProps) {
  return paper && figure ? <FigurePage paper={paper} name={figure} /> : <Gallery />;
}
