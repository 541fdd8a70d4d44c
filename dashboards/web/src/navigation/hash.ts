/** Addresses of views: parsing and writing the hash. */

export interface Route {
  path: readonly string[];
  /** Not decoded; viewState.ts decodes it. */
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

/** Like encodeURIComponent, but keeps characters that a hash may contain. */
export function encode(text: string): string {
  return encodeURIComponent(text).replace(/%(2F|3A|40|20)/g, (written) =>
    written === "%20" ? "+" : decodeURIComponent(written),
  );
}

/** The address of a view, for `href`: `linkTo(["runs", id])`, with an optional query of `viewState.ts`. */
export function linkTo(path: readonly string[], query = ""): string {
  return `#/${path.map(encodeURIComponent).join("/")}${query && `?${query}`}`;
}
