/** The number of claims with each verdict. */

import { type Claim, countVerdicts, TONES, type Verdict } from "../../data/reproductions";
import { Badge } from "../../parts/Badge";
import styles from "./Papers.module.css";

export function VerdictBadge({ verdict }: { verdict: Verdict }) {
  return <Badge tone={TONES[verdict]}>{verdict}</Badge>;
}

export function VerdictCounts({ claims }: { claims: readonly Claim[] }) {
  if (claims.length === 0) return <span className={styles.faint}>no claims, charts only</span>;
  return (
    <span className={styles.counts}>
      {countVerdicts(claims).map(([verdict, number]) => (
        <Badge key={verdict} tone={TONES[verdict]}>{`${number} ${verdict}`}</Badge>
      ))}
    </span>
  );
}
