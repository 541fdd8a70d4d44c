/** Papers: the gallery of reproductions, `#/papers`, and one figure, `#/papers/apptcp/fig6`. */
import type { PageProps } from "../props";
import { FigurePage } from "./FigurePage";
import { Gallery } from "./Gallery";
import { Unknown } from "./Unknown";

export default function Papers({ path: [paper, figure] }: PageProps) {
  if (paper === undefined) return <Gallery />;
  return figure === undefined ? <Unknown what={`paper ${paper}`} /> : <FigurePage paper={paper} name={figure} />;
}
