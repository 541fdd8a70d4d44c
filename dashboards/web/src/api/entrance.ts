/** In and out: a token is traded for a cookie that no script can read, and is kept nowhere. */
import { answered, api, type Schemas } from "./client";
import { Problem } from "./problem";
import { queries } from "./queries";
import { SCOPES, type Scope, session } from "./session";

/** Ask who the cookie says that we are; nobody is no mistake. */
export async function checkSession(): Promise<void> {
  try {
    enter(await answered(api.GET("/api/v1/session")));
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 401) throw error;
    if (session.get().kind === "asking") session.set({ kind: "out" });
  }
}

export async function logIn(token: string): Promise<void> {
  const before = session.get();
  const found = await answered(api.POST("/api/v1/session", { body: { token } }));
  // Somebody else may see other things.
  if (before.kind !== "ended" || before.name !== found.name) queries.clear();
  enter(found);
  void queries.invalidateQueries();
}

export async function logOut(): Promise<void> {
  try {
    await answered(api.DELETE("/api/v1/session"));
  } catch (error) {
    // Who is not known any more is out already.
    if (!(error instanceof Problem) || error.status !== 401) throw error;
  }
  queries.clear();
  session.set({ kind: "out" });
}

function enter(found: Schemas["Session"]): void {
  const scope: Scope = SCOPES.find((one) => one === found.scope) ?? "read";
  session.set({ kind: "in", name: found.name, scope, csrf: found.csrf_token });
}
