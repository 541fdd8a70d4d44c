/** A menu with the same experiment or run as a command line, Python, curl or a notebook. */
import { useState } from "react";
import { useMay } from "../api/session";
import { lazily, once } from "../pages/loading";
import { Menu } from "../parts/Menu";
import type { OneRun } from "./recipe";

const Items = lazily(
  once(() => import("./Items")),
  "10rem",
);

interface Props {
  experiment: string;
  /** Only this run of the experiment. */
  run?: OneRun & { id: string };
}

export function CopyAs({ experiment, run }: Props) {
  const [opened, setOpened] = useState(false);
  // A link to one result does not lead to the experiment.
  if (!useMay("read")) return null;
  return (
    <Menu label="Copy as" name="Copy as" onOpen={() => setOpened(true)}>
      {opened && <Items experiment={experiment} run={run ?? null} />}
    </Menu>
  );
}
