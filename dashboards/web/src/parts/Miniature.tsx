/** A small picture of an experiment: its hosts and the nodes between, and below, when its flows send and when the path changes. */
import type { Schemas } from "../api/client";
import { flowStyle } from "../theme/palette";
import { useTheme } from "../theme/theme";
import styles from "./Miniature.module.css";

const [WIDTH, PATH, LANE] = [104, 22, 4];
const MOST_DOTS = 4;
const MOST_HOPS = 5;

export function Miniature({ picture }: { picture: Schemas["Miniature"] }) {
  const theme = useTheme();
  const hops = Math.min(MOST_HOPS, Math.max(1, picture.hops));
  const left = 12 + WIDTH * 0.14;
  const right = WIDTH - left;
  const nodes = Array.from({ length: hops }, (_, at) =>
    hops === 1 ? WIDTH / 2 : left + ((right - left) * at) / (hops - 1),
  );
  const [first = left, last = right] = [nodes[0], nodes.at(-1)];
  return (
    <svg
      className={styles.miniature}
      viewBox={`0 0 ${WIDTH} ${PATH + picture.flows.length * LANE + 2}`}
      width={WIDTH}
      aria-hidden="true"
    >
      <Fan count={picture.senders} from={5} to={first} />
      <Fan count={picture.receivers} from={WIDTH - 5} to={last} />
      <line x1={first} x2={last} y1={PATH / 2} y2={PATH / 2} className={styles.wire} />
      {nodes.map((x) => (
        <rect key={x} x={x - 3.5} y={PATH / 2 - 3.5} width={7} height={7} className={styles.node} />
      ))}
      {picture.changes.map((at) => (
        <line
          key={at}
          x1={2 + at * (WIDTH - 4)}
          x2={2 + at * (WIDTH - 4)}
          y1={PATH}
          y2={PATH + picture.flows.length * LANE}
          className={styles.change}
        />
      ))}
      {picture.flows.map(({ begin, end }, at) => (
        <line
          // biome-ignore lint/suspicious/noArrayIndexKey: a flow is identified by its position
          key={at}
          x1={2 + begin * (WIDTH - 4)}
          x2={2 + end * (WIDTH - 4)}
          y1={PATH + (at + 0.5) * LANE}
          y2={PATH + (at + 0.5) * LANE}
          stroke={flowStyle(at, theme).variable}
          strokeWidth="2.5"
        />
      ))}
    </svg>
  );
}

/** Hosts that lead to one node. */
function Fan({ count, from, to }: { count: number; from: number; to: number }) {
  const shown = Math.min(MOST_DOTS, count);
  return Array.from({ length: shown }, (_, at) => {
    const y = shown === 1 ? PATH / 2 : 3 + ((PATH - 6) * at) / (shown - 1);
    return (
      <g key={y}>
        <line x1={from} x2={to} y1={y} y2={PATH / 2} className={styles.wire} />
        <circle cx={from} cy={y} r={2.5} className={styles.node} />
      </g>
    );
  });
}
