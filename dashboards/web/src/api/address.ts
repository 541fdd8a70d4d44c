/** The address of the service, derived from the page's own address, so that the server need not be configured with a prefix. */

export function baseOf(page: string): string {
  return new URL(".", page).pathname.replace(/\/$/, "");
}

export const BASE = baseOf(document.baseURI);

/** The address of a path as the API returns it: `/api/v1/runs/...`. */
export function addressOf(path: string): string {
  return BASE + path;
}

/** The id at the end of such a path. */
export function idOf(href: string): string {
  return href.slice(href.lastIndexOf("/") + 1);
}
