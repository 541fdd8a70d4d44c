/** The route: the hash of the address, which contains the whole state of a view. A copied address restores it, below any prefix.
 *
 *     #/runs/5d41402abc4b2a769e07?flows=app,bic&from=2.5
 *       path: ["runs", "5d41..."]  query: "flows=app,bic&from=2.5"
 */
import { Store, useStore } from "../store";
import { linkTo, parseRoute, type Route } from "./hash";
import { arrive, newEntry } from "./places";

export { linkTo, type Route } from "./hash";

const route = new Store<Route>(parseRoute(window.location.hash));
window.addEventListener("hashchange", readAgain);
window.addEventListener("popstate", readAgain);

function readAgain(): void {
  arrive();
  route.set(parseRoute(window.location.hash));
}

export function routeNow(): Route {
  return route.get();
}

export function useRoute(): Route {
  return useStore(route);
}

/** Goes to a view; with `replace`, Back does not return to the view before. */
export function go(link: string, { replace = false }: { replace?: boolean } = {}): void {
  if (replace) window.history.replaceState(window.history.state, "", link);
  else window.history.pushState(newEntry(), "", link);
  readAgain();
}

/** Changes the query of the current view. */
export function replaceQuery(change: (query: string) => string, options: { replace: boolean }): void {
  const now = route.get();
  const query = change(now.query);
  if (query !== now.query) go(linkTo(now.path, query), options);
}
