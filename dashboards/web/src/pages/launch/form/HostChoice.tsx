/** The choice of two physical hosts from the operator's policy, with their leases and allowed peers. */
import { useQuery } from "@tanstack/react-query";
import { answered, api, type Schemas } from "../../../api/client";
import { ErrorNote } from "../../../parts/ErrorNote";
import { NONE, rate } from "../../../units";
import { change, useDraft } from "../draft";
import { ChoiceField } from "./ChoiceField";
import styles from "./Form.module.css";

type Host = Schemas["Host"];

const SIDES = ["From", "To"] as const;

export function HostChoice() {
  const { hosts: chosen } = useDraft();
  const hosts = useQuery({ queryKey: ["hosts"], queryFn: () => answered(api.GET("/api/v1/hosts")) });
  const real = hosts.data?.filter((host) => host.use) ?? [];
  if (hosts.error) return <ErrorNote error={hosts.error} />;
  if (hosts.data && real.length === 0) {
    return (
      <p className={styles.note}>This lab has no physical hosts yet; docs/hosts.md describes how to set up two.</p>
    );
  }
  const from = real.find((host) => host.id === chosen[0]);
  return (
    <div className={styles.fields}>
      {SIDES.map((side, place) => {
        const offered = place === 0 || !from ? real : real.filter((host) => host.id in (from.use?.peers ?? {}));
        const now = real.find((host) => host.id === chosen[place]);
        return (
          <ChoiceField
            key={side}
            label={side}
            value={chosen[place] ?? ""}
            choices={[["", NONE], ...offered.map(({ id }) => id)]}
            note={<div className={styles.note}>{now && describe(now)}</div>}
            onChange={(host) => {
              const next = SIDES.map((_, at) => (at === place ? host : (chosen[at] ?? "")));
              change({ hosts: next.filter(Boolean) });
            }}
          />
        );
      })}
    </div>
  );
}

function describe(host: Host): string {
  const taken = host.holder ? `leased by ${host.holder}` : "free";
  return `${taken}, up to ${rate(host.use?.rate_bps)}`;
}
