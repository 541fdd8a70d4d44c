/** The legend of the signs that occur in the charts. */
import type { ReactNode } from "react";
import type { Outline } from "../../data/runDocument";
import { shadedOf } from "./panels";
import styles from "./RunCharts.module.css";

export function Key({ outline }: { outline: Outline }) {
  const { moments, flows } = outline;
  const hasStarts = moments.some(({ flow, t_s }) => flow !== null && t_s > 0 && t_s < outline.duration_s);
  const signs: [string, boolean, ReactNode][] = [
    [
      "slow start threshold",
      flows.some((flow) => flow.kind !== "udp"),
      <path key="" d="M0 6h20" strokeDasharray="2 3" />,
    ],
    [
      outline.links[0]?.recorded ? "reference: BDP, buffer" : "reference: capacity, BDP, buffer",
      outline.links.length > 0,
      <path key="" d="M0 6h20" strokeDasharray="6 4" />,
    ],
    [
      "recorded capacity",
      outline.links[0]?.recorded === true,
      <path key="" d="M0 12v-9h9v4h11v5z" strokeWidth="1" fill="currentColor" fillOpacity="0.14" />,
    ],
    ["a flow starts or stops", hasStarts, <path key="" d="M10 0v12" strokeDasharray="1 3" />],
    ["cancelled: the trace ends", outline.partial_s != null, <path key="" d="M10 0v12" strokeDasharray="4 3" />],
    [
      "a scheduled change",
      moments.some(({ flow }) => flow === null),
      <path key="" d="M10 0v12" strokeDasharray="4 3" />,
    ],
    ["packets dropped", outline.links.length > 0, <path key="" d="M6 12v-7M10 12v-7M14 12v-7" stroke="var(--bad)" />],
    [
      outline.partial_s == null ? "not measured (warmup)" : "not measured, or not simulated",
      shadedOf(outline).length > 0,
      <path key="" d="M2 6h16" strokeWidth="12" opacity="0.2" />,
    ],
  ];
  return (
    <ul className={styles.key} aria-label="Signs in the charts">
      {signs
        .filter(([, isThere]) => isThere)
        .map(([name, , drawing]) => (
          <li key={name}>
            <svg width="20" height="12" aria-hidden="true" stroke="currentColor" strokeWidth="1.5">
              {drawing}
            </svg>
            {name}
          </li>
        ))}
    </ul>
  );
}
