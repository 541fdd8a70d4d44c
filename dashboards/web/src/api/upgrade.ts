/** Whether the service has another page by now than the one that is shown, as after an upgrade. */
import { Store } from "../store";
import { addressOf } from "./address";
import { onReturn } from "./connection";
import { onSight } from "./sight";

export const outdated = new Store(false);

// The name of the first script changes with whatever of the page changes.
const OWN = document.querySelector<HTMLScriptElement>("script[type=module]")?.src.split("/").pop() ?? "";
const NOT_AGAIN_MS = 60_000;
let asked = 0;

/** Ask which page is served now. Throws where nobody answers. */
export async function askWhichPage(): Promise<void> {
  asked = Date.now();
  const answer = await fetch(addressOf("/"), { cache: "no-cache" });
  if (answer.ok) outdated.set(!(await answer.text()).includes(OWN));
}

/** Whenever it may have changed: the service was away, or the page out of sight. */
export function watchForUpgrades(): void {
  // Whoever does not answer is noticed by those who want something.
  const ask = (): void => void askWhichPage().catch(() => undefined);
  onReturn(ask);
  onSight(() => {
    if (Date.now() - asked > NOT_AGAIN_MS) ask();
  });
}
