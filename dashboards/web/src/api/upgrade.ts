/** Whether the service delivers another version of the page than the one shown, as after an upgrade. */
import { Store } from "../store";
import { addressOf } from "./address";
import { onReturn } from "./connection";
import { onSight } from "./sight";

export const outdated = new Store(false);

// The name of the last script, which loads all others, changes with every change of the page.
const OWN = [...document.querySelectorAll<HTMLScriptElement>("script[type=module]")].at(-1)?.src.split("/").pop() ?? "";
const NOT_AGAIN_MS = 60_000;
let asked = 0;

/** Checks which page is served now. Throws if the service does not respond. */
export async function checkVersion(): Promise<void> {
  asked = Date.now();
  const answer = await fetch(addressOf("/"), { cache: "no-cache" });
  if (answer.ok) outdated.set(!(await answer.text()).includes(OWN));
}

/** Checks whenever the version may have changed: after the service was away, or the page hidden. */
export function watchForUpgrades(): void {
  // Other requests notice an absent service.
  const ask = (): void => void checkVersion().catch(() => undefined);
  onReturn(ask);
  onSight(() => {
    if (Date.now() - asked > NOT_AGAIN_MS) ask();
  });
}
