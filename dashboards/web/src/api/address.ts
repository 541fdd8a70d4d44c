/** Where the service is, seen from the page. All derives from the page's own address: the server need not know of a prefix. */

export function baseOf(page: string): string {
  return new URL(".", page).pathname.replace(/\/$/, "");
}

export const BASE = baseOf(document.baseURI);

/** The address of a path from the server's root, as documents of the API hold them: `/api/v1/runs/...`. */
export function addressOf(path: string): string {
  return BASE + path;
}

/** The id at the end of such a path. */
export function idOf(href: string): string {
  return href.slice(href.lastIndexOf("/") + 1);
}
