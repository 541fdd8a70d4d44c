/** Whether this browser notifies its user of experiments: the browser's permission and the user's choice, which the browser keeps. */
import { keep, readKept } from "../kept";
import { Store, useStore } from "../store";

/** `missing`: the browser has no notifications, or has them only for pages over HTTPS. */
export type State = "missing" | "refused" | "off" | "on";

const KEY = "longhaul.notify";

export const state = new Store<State>(stateNow());

export function useNotified(): State {
  return useStore(state);
}

/** Ask for the permission, if there is none yet, and begin. Only from a press: browsers refuse pages that ask by themselves. */
export async function turnOn(): Promise<void> {
  if (Notification.permission !== "granted") await Notification.requestPermission();
  if (Notification.permission === "granted") keep(KEY, "on");
  state.set(stateNow());
}

export function turnOff(): void {
  keep(KEY, "off");
  state.set(stateNow());
}

/** Show a notification; a press on it brings the page to the front and calls `open`. One of the same tag is replaced. */
export function show(title: string, body: string, tag: string, open: () => void): void {
  try {
    const shown = new Notification(title, { body, tag });
    shown.onclick = () => {
      window.focus();
      open();
      shown.close();
    };
  } catch {
    // Browsers of phones have the name, and refuse the object.
    state.set("missing");
  }
}

function stateNow(): State {
  if (!window.isSecureContext || typeof Notification === "undefined") return "missing";
  if (Notification.permission === "denied") return "refused";
  return Notification.permission === "granted" && readKept(KEY) === "on" ? "on" : "off";
}

// Another tab may change the choice.
window.addEventListener("storage", ({ key }) => key === KEY && state.set(stateNow()));
