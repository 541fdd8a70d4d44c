/** The code and the requests that a view begins with, by its address: they are known before the code of the page has arrived. */

/** The paths that the view at an address reads first. */
export function firstOf(hash: string): readonly string[] {
  if (hash === "" || hash === "#/") return ["/experiments?limit=8", "/reproductions"];
  if (hash === "#/runs") return ["/runs?limit=60&sort=newest&total=true"];
  const kept = /^#\/(runs|experiments)\/([0-9a-f]{16,20})(\?|$)/.exec(hash);
  if (kept === null) return [];
  const own = `/${kept[1]}/${kept[2]}`;
  return kept[1] === "runs" ? [own, `${own}/outline`] : [own];
}

/** The folder of the page at an address. */
export function pageOf(hash: string): string {
  const [word = "", id = "", part] = hash.replace(/^#\/?|\?.*$/g, "").split("/");
  if (word === "") return "start";
  if (word === "experiments" && part === "explore") return part;
  return id !== "" && (word === "runs" || word === "experiments") ? "run" : word;
}
