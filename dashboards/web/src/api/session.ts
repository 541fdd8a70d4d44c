/** Who is logged in, as far as the page knows. */
import { Store, useStore } from "../store";

export const SCOPES = ["read", "run", "gate", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

export interface Known {
  name: string;
  scope: Scope;
  /** Goes along with all that changes something. */
  csrf: string;
}

/** `ended`: somebody was in, and their session is over; what they have on the screen stays there. */
export type Session =
  | { kind: "asking" }
  | { kind: "out" }
  | ({ kind: "in" } & Known)
  | { kind: "ended"; name: string; scope: Scope };

export const session = new Store<Session>({ kind: "asking" });

/** The service does not know this session any more. */
export function sessionEnded(): void {
  const now = session.get();
  if (now.kind === "in") session.set({ kind: "ended", name: now.name, scope: now.scope });
}

export function useSession(): Session {
  return useStore(session);
}

/** Whether whoever is logged in may do what needs this scope; what they may not is not shown. */
export function useMay(scope: Scope): boolean {
  const now = useSession();
  return (now.kind === "in" || now.kind === "ended") && SCOPES.indexOf(now.scope) >= SCOPES.indexOf(scope);
}

/** Whether what has this owner is theirs to end: their own, or anybody's for an admin. */
export function useOwns(owner: string | null): boolean {
  const now = useSession();
  return useMay("admin") || ("name" in now && now.name === owner);
}
