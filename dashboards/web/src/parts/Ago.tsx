/** How long ago a time is; its title has the time itself. */
import { ago, moment } from "../units";

export function Ago({ at }: { at: string }) {
  return <span title={moment(at)}>{ago(at)}</span>;
}
