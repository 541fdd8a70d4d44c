/** The title of the tab: a page with a subject gives it its name and state, so that ten tabs differ. */
import { useEffect } from "react";
import { Store, useStore } from "../store";
import { routeNow } from "./route";

const title = new Store<{ page: string; text: string } | null>(null);

/** The title that the page at this address gave. */
export function useTitle(page: string): string | null {
  const given = useStore(title);
  return given?.page === page ? given.text : null;
}

/** Give the tab a title while the component is shown. */
export function useOwnTitle(text: string): void {
  useEffect(() => {
    title.set({ page: routeNow().path.join("/"), text });
    return () => title.set(null);
  }, [text]);
}
