/** Login and logout: a token is exchanged for a cookie that no script can read, and is not stored. It is typed, or in a login link,
 * `#/?token=lh_...`, behind the `#`, which browsers do not send; the page removes it from the address at once.
 */
import { replaceQuery, routeNow } from "../navigation/route";
import { answered, api, type Schemas } from "./client";
import { forgetEarly } from "./early";
import { Problem } from "./problem";
import { queries } from "./queries";
import { SCOPES, type Scope, session } from "./session";

/** A link to a view that logs in with a token, at the address of this page, which may be that of a proxy. */
export function loginLink(token: string, view = ""): string {
  const page = document.baseURI.replace(/#.*/, "");
  return `${page}#/${view}${view.includes("?") ? "&" : "?"}token=${encodeURIComponent(token)}`;
}

/** Logs in with the token of a login link, or with the cookie of a session. */
export async function enterPage(): Promise<void> {
  const token = new URLSearchParams(routeNow().query).get("token");
  if (token === null) return checkSession();
  replaceQuery(
    (query) =>
      query
        .split("&")
        .filter((part) => !part.startsWith("token="))
        .join("&"),
    { replace: true },
  );
  if (token.startsWith(SHARED) && (await hasSession())) return;
  try {
    await logIn(token.trim());
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    // A proxy has signed the page in already.
    if (error.status === 409) return checkSession();
    if (error.status !== 401) throw error;
    session.set({ kind: "out", refused: error });
  }
}

/** How the token of a link that shares a result begins: users of the lab keep their own session. */
const SHARED = "ls_";

async function hasSession(): Promise<boolean> {
  await checkSession();
  const now = session.get();
  return now.kind === "in" && now.scope !== "shared";
}

/** Reads the session of the cookie; no session is not an error. */
export async function checkSession(): Promise<void> {
  try {
    enter(await answered(api.GET("/api/v1/session")));
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 401) throw error;
    forgetEarly();
    if (session.get().kind === "asking") session.set({ kind: "out" });
  }
}

export async function logIn(token: string): Promise<void> {
  const before = session.get();
  const found = await answered(api.POST("/api/v1/session", { body: { token } }));
  // Another user may see other data.
  if (before.kind !== "ended" || before.name !== found.name) queries.clear();
  enter(found);
  void queries.invalidateQueries();
}

export async function logOut(): Promise<void> {
  try {
    await answered(api.DELETE("/api/v1/session"));
  } catch (error) {
    // A session that has ended is logged out already.
    if (!(error instanceof Problem) || error.status !== 401) throw error;
  }
  queries.clear();
  session.set({ kind: "out" });
}

function enter(found: Schemas["Session"]): void {
  const scope: Scope = SCOPES.find((one) => one === found.scope) ?? "shared";
  session.set({ kind: "in", name: found.name, scope, csrf: found.csrf_token, byProxy: found.by_proxy });
}
