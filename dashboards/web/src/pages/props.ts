/** The properties of every page. */
export interface PageProps {
  /** The address after the page's own word: `#/lab/hosts` -> ["hosts"]. */
  path: readonly string[];
}
