/** The parts of the lab, in the order of their tabs. */
import type { TokenScope } from "../../api/session";

export interface LabPart {
  /** The second word of its address. */
  word: string;
  name: string;
  /** The scope that its reader needs. */
  scope: TokenScope;
}

export const LAB_PARTS: readonly LabPart[] = [
  { word: "queue", name: "Queue", scope: "read" },
  { word: "hosts", name: "Hosts", scope: "read" },
  { word: "modules", name: "Modules", scope: "read" },
  { word: "recordings", name: "Recordings", scope: "read" },
  { word: "baselines", name: "Baselines", scope: "read" },
  { word: "service", name: "Service", scope: "read" },
  { word: "notifications", name: "Notifications", scope: "read" },
  { word: "shares", name: "Shares", scope: "run" },
  { word: "tokens", name: "Tokens", scope: "admin" },
  { word: "audit", name: "Audit", scope: "admin" },
];
