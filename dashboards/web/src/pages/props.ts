/** What every page is given. */
export interface PageProps {
  /** What comes after the page's own word: `#/lab/hosts` -> ["hosts"]. */
  path: readonly string[];
}
