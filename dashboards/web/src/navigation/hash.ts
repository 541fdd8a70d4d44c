/** Addresses of views as text: what is in the hash, and what is not decoded yet. */

export interface Route {
  path: readonly string[];
  /** Not decoded: viewState.ts does that. */
  query: string;
}

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = splitOnce(hash.replace(/^#?\/?/, ""), "?");
  return { path: path.split("/").filter(Boolean).map(decode), query };
}

export function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + separator.length)];
}

export function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** As encodeURIComponent, but what may stand in a hash stays legible. */
export function encode(text: string): string {
  return encodeURIComponent(text).replace(/%(2F|3A|40|20)/g, (written) =>
    written === "%20" ? "+" : decodeURIComponent(written),
  );
}

/** The address of a view, for `href`: `linkTo(["runs", id])`, with the query of `viewState.ts` where there is one. */
export function linkTo(path: readonly string[], query = ""): string {
  return `#/${path.map(encodeURIComponent).join("/")}${query && `?${query}`}`;
}
