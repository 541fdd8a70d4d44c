/** A host's next hours or days as a bar: its lease and maintenance, in the browser's time zone. */
import type { Schemas } from "../../api/client";
import { moment } from "../../units";
import styles from "./Lab.module.css";

const DAY_S = 86_400;
const HEIGHT = 26;
// A label is centred at its time, and would be cut off at the end.
const MOST_LABELLED = 0.97;

interface Props {
  host: Schemas["Host"];
  /** Maintenance windows: from and until. */
  closed: readonly (readonly string[])[];
  days: number;
}

export function Calendar({ host, closed, days }: Props) {
  const nowS = Date.now() / 1000;
  const spanS = days * DAY_S;
  const place = (atS: number): number => Math.max(0, Math.min(100, (100 * (atS - nowS)) / spanS));
  const until = host.until_s;
  const windows = closed
    .map(([from = "", to = ""]) => [Date.parse(from) / 1000, Date.parse(to) / 1000] as const)
    .filter(([from, to]) => to > nowS && from < nowS + spanS);
  const maintained = windows.map(([from, to]) => `, in maintenance from ${at(from)} to ${at(to)}`).join("");
  const lease = until === null ? "free" : `leased by ${host.holder} until ${at(until)}`;
  const label = lease + maintained;
  return (
    <div className={styles.calendar}>
      <svg role="img" aria-label={`${host.id}: ${label}`} viewBox={`0 0 100 ${HEIGHT}`} preserveAspectRatio="none">
        <rect className={styles.free} width="100" height={HEIGHT} />
        {windows.map(([from, to]) => (
          <rect
            key={from}
            className={styles.closed}
            x={place(from)}
            width={Math.max(0.4, place(to) - place(from))}
            height={HEIGHT}
          />
        ))}
        {until !== null && <rect className={styles.taken} width={Math.max(0.4, place(until))} height={HEIGHT} />}
        {ticks(nowS, days).map(([atS]) => (
          <line key={atS} className={styles.tick} x1={place(atS)} x2={place(atS)} y1="0" y2={HEIGHT} />
        ))}
      </svg>
      <div className={styles.scale} aria-hidden="true">
        {ticks(nowS, days)
          .filter(([atS]) => atS < nowS + spanS * MOST_LABELLED)
          .map(([atS, name]) => (
            <span key={atS} style={{ left: `${place(atS)}%` }}>
              {name}
            </span>
          ))}
      </div>
    </div>
  );
}

function at(seconds: number): string {
  return moment(new Date(seconds * 1000).toISOString());
}

/** Every third hour of a day, or each midnight of a week. */
function ticks(nowS: number, days: number): readonly (readonly [atS: number, name: string])[] {
  const found: [number, string][] = [];
  const at = new Date(nowS * 1000);
  at.setMinutes(0, 0, 0);
  const endS = nowS + days * DAY_S;
  for (at.setHours(at.getHours() + 1); at.getTime() / 1000 < endS; at.setHours(at.getHours() + 1)) {
    const hour = at.getHours();
    if (days > 1 ? hour !== 0 : hour % 3 !== 0) continue;
    const name =
      days > 1
        ? at.toLocaleDateString("en", { weekday: "short", day: "numeric" })
        : `${String(hour).padStart(2, "0")}:00`;
    found.push([at.getTime() / 1000, name]);
  }
  return found;
}
