/** The page begins: theme first, so that nothing flashes, then who is asking, then what they asked for. */
import "./theme/theme.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Problem } from "./api/problem";
import { queries } from "./api/queries";
import { watchForUpgrades } from "./api/upgrade";
import { Shell } from "./shell/Shell";
import { startTheme } from "./theme/theme";

startTheme();
watchForUpgrades();
const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no place for the page");
// What the service says is told on the page; the console is for the page's own mistakes.
const onCaughtError = (error: unknown): void => {
  if (!(error instanceof Problem)) reportError(error);
};
createRoot(root, { onCaughtError }).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <Shell />
    </QueryClientProvider>
  </StrictMode>,
);
