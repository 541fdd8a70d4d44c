/** Names with their values, in a list of terms. */
import type { ReactNode } from "react";

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

interface Props {
  facts: readonly (readonly [name: string, value: string])[];
  look: string | undefined;
  label?: string;
}

export function Facts({ facts, look, label }: Props) {
  return (
    <dl className={look} aria-label={label}>
      {facts.map(([name, value]) => (
        <Fact key={name} name={name}>
          {value}
        </Fact>
      ))}
    </dl>
  );
}
