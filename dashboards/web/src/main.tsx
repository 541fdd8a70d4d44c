/** The entry point: the theme first, so that nothing flashes, then the session, then the requested page. */
import "./theme/theme.css";
import "./theme/shared.css";
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
if (root === null) throw new Error('index.html has no element with the id "root"');
// The page shows the service's errors; the console is for errors of the page itself.
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
