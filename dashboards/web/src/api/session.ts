/** The session of the page: user and scope. */
import { Store, useStore } from "../store";

/** The scopes of tokens; each includes those before it. */
export const SCOPES = ["read", "run", "gate", "admin"] as const;
export type TokenScope = (typeof SCOPES)[number];
/** `shared` is that of a link to one result. */
export type Scope = "shared" | TokenScope;

export interface Known {
  name: string;
  scope: Scope;
  /** Sent with every request that changes something. */
  csrf: string;
  /** A reverse proxy names the user, who cannot log out here. */
  byProxy: boolean;
}

/** `refused`: the token of a login link was not accepted. `ended`: the session of a logged-in user is over; the view stays on the screen. */
export type Session =
  | { kind: "asking" }
  | { kind: "out"; refused?: unknown }
  | ({ kind: "in" } & Known)
  | { kind: "ended"; name: string; scope: Scope };

export const session = new Store<Session>({ kind: "asking" });

/** The service refused the session. */
export function sessionEnded(): void {
  const now = session.get();
  if (now.kind === "in") session.set({ kind: "ended", name: now.name, scope: now.scope });
}

export function useSession(): Session {
  return useStore(session);
}

/** The place of a scope in their order; that of a shared link is before all. */
export function levelOf(scope: Scope): number {
  return scope === "shared" ? -1 : SCOPES.indexOf(scope);
}

/** The place of the user's scope; without a user it is before all. */
export function useLevel(): number {
  const now = useSession();
  return now.kind === "in" || now.kind === "ended" ? levelOf(now.scope) : Number.NEGATIVE_INFINITY;
}

/** Whether the user has this scope; actions without permission are not shown. */
export function useMay(scope: Scope): boolean {
  return useLevel() >= levelOf(scope);
}

/** Whether the user may cancel what this owner has: their own, or as an admin everything. */
export function useOwns(owner: string | null): boolean {
  const now = useSession();
  return useMay("admin") || ("name" in now && now.name === owner);
}
