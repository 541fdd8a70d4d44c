/** The page of a paper or a figure that this lab does not have. */
import { linkTo } from "../../navigation/hash";
import { useOwnTitle } from "../../navigation/title";
import { LinkButton } from "../../parts/Button";
import { Empty } from "../../parts/Empty";

/** `known` is the sentence of the service, with the nearest names. */
export function Unknown({ what, known }: { what: string; known?: string }) {
  useOwnTitle(`No ${what}`);
  return (
    <Empty isPage title={`There is no ${what}`} action={<LinkButton href={linkTo(["papers"])}>All papers</LinkButton>}>
      <p>{known ?? "The papers and packs of this lab, with their figures, are on one page."}</p>
    </Empty>
  );
}
