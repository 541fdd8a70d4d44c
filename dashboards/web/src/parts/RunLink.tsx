/** A run as a link in a table: the first digits of its id. */
import { linkTo } from "../navigation/hash";

export function RunLink({ id }: { id: string }) {
  return (
    <a href={linkTo(["runs", id])}>
      <code>{id.slice(0, 8)}</code>
    </a>
  );
}
