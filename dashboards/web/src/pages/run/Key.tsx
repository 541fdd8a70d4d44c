/** The key of the charts: a sample of each sign in sight, and its meaning. */
import { useEffect, useState } from "react";
import { type Drawn, SIGNS, type SignKind, sampleOf, signsIn } from "../../charts/signs";
import type { Source } from "../../charts/source";
import type { Span } from "../../charts/span";
import { endAll } from "../../store";

interface Props {
  charts: readonly Drawn[];
  span: Span;
  source: Source;
}

const REFRESH_MS = 500;

export function Key({ charts, span, source }: Props) {
  const [inSight, setInSight] = useState<readonly SignKind[]>(() => allIn(charts, span));
  useEffect(() => {
    let timer = 0;
    const look = (): void => {
      timer = 0;
      setInSight((now) => {
        const next = allIn(charts, span);
        return next.join() === now.join() ? now : next;
      });
    };
    const later = (): void => {
      if (timer === 0) timer = window.setTimeout(look, REFRESH_MS);
    };
    look();
    return endAll(() => window.clearTimeout(timer), span.onSettled(look), source.onMore(later));
  }, [charts, span, source]);
  return (
    <ul className="signs" aria-label="Signs in the charts">
      {inSight.map((sign) => (
        <li key={sign}>
          <Sample sign={sign} />
          {SIGNS[sign].text}
        </li>
      ))}
    </ul>
  );
}

function Sample({ sign }: { sign: SignKind }) {
  const { d, dash, width = 1.5, opacity, filled = false, bad = false } = sampleOf(sign);
  return (
    <svg width="20" height="12" aria-hidden="true" stroke={bad ? "var(--bad)" : "currentColor"}>
      <path
        d={d}
        strokeWidth={width}
        strokeDasharray={dash}
        opacity={opacity}
        fill={filled ? "currentColor" : "none"}
        fillOpacity="0.14"
      />
    </svg>
  );
}

function allIn(charts: readonly Drawn[], { shown }: Span): SignKind[] {
  const found = new Set(charts.flatMap((chart) => signsIn(chart, shown)));
  return (Object.keys(SIGNS) as SignKind[]).filter((sign) => found.has(sign));
}
