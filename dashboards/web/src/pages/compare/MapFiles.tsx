/** Saves a heat map as SVG or PNG, or its numbers as CSV. */

import { Button } from "../../parts/Button";
import { type Form, type MapOptions, saveMap } from "./mapFile";

interface Props extends MapOptions {
  file: string;
}

const FORMS: readonly Form[] = ["svg", "png", "csv"];

export function MapFiles({ file, ...map }: Props) {
  return FORMS.map((form) => (
    <Button key={form} kind="quiet" onClick={() => void saveMap(form, file, map)}>
      {form.toUpperCase()}
    </Button>
  ));
}
