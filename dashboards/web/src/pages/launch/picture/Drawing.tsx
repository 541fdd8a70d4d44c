/** The diagram of the path: links with their effect on packets, and the flows in the colours of the charts. */
import { flowStyle } from "../../../theme/palette";
import { useTheme } from "../../../theme/theme";
import styles from "./Drawing.module.css";
import { type Drawing as Drawn, type Laid, type Link, layOut, nodeWidth, type Spot } from "./layout";
import { accessWords, linesOf, linkWords, type Words } from "./words";

const SPREAD = 7;
const LINE = 15;

export function Drawing({ drawing, fresh }: { drawing: Drawn; fresh: boolean }) {
  const hosts = new Set(drawing.nodes.filter((node) => node.kind === "host").map((node) => node.name));
  const isAccess = (link: Link): boolean => !link.bottleneck && link.ends.some((end) => hosts.has(end));
  const wordsOf = (link: Link): Words => (isAccess(link) ? accessWords(link) : linkWords(link));
  const laid = layOut(drawing, (link) => linesOf(wordsOf(link)));
  const links = laid.links.map((one) => ({
    ...one,
    words: wordsOf(one.link),
    width: widthOf(one, laid),
    access: isAccess(one.link),
  }));
  const lowest = Math.max(
    0,
    ...links.map(({ from, to, words, width }) => (from.y + to.y) / 2 + width / 2 + (words.below.length + 1) * LINE),
  );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keys must scroll a diagram that is wider than its frame
    <div className={styles.frame} data-fresh={fresh} tabIndex={0} role="group" aria-label="Path diagram">
      <svg
        className={styles.drawing}
        viewBox={`0 0 ${laid.width} ${Math.max(laid.height, lowest)}`}
        style={{ minWidth: laid.width * 0.82, maxWidth: laid.width * 1.25 }}
        role="img"
        aria-label={spoken(drawing)}
      >
        {links.map((one) => (
          <LinkLine key={one.link.name} {...one} />
        ))}
        <Ways laid={laid} />
        {laid.spots.map((spot) => (
          <Node key={spot.name} spot={spot} />
        ))}
        {links.map((one) => (
          <LinkText key={one.link.name} {...one} />
        ))}
      </svg>
      {(drawing.more_nodes > 0 || drawing.more_flows > 0) && (
        <p className={styles.more}>
          {[
            drawing.more_nodes > 0 && `${drawing.more_nodes} more nodes`,
            drawing.more_flows > 0 && `${drawing.more_flows} more flows`,
          ]
            .filter(Boolean)
            .join(" and ")}{" "}
          are not drawn
        </p>
      )}
    </div>
  );
}

interface Shown {
  link: Link;
  from: Spot;
  to: Spot;
  words: Words;
  width: number;
  access: boolean;
}

/** The width of a link: with a rate, that of all its flows. */
function widthOf({ link, from, to }: { link: Link; from: Spot; to: Spot }, laid: Laid): number {
  if (link.forward.rate_bps === null && link.reverse.rate_bps === null) return 1.25;
  const flows = laid.ways.filter(({ spots }) => spots.includes(from) && spots.includes(to)).length;
  return Math.max(14, Math.min(8, flows) * SPREAD + 8);
}

function LinkLine({ link, from, to, width, access }: Shown) {
  const kind = link.forward.medium || link.reverse.medium ? styles.air : width > 2 ? styles.pipe : styles.wire;
  return (
    <g className={link.bottleneck ? styles.bottleneck : undefined}>
      <title>{`${link.name}: ${linesOf(linkWords(link)).join(", ")}`}</title>
      <line className={kind} x1={from.x} y1={from.y} x2={to.x} y2={to.y} strokeWidth={width} />
      {!access && link.forward.buffer_packets !== null && <Queue from={from} to={to} />}
    </g>
  );
}

/** The symbol of a queue in front of a rate. */
function Queue({ from, to }: { from: Spot; to: Spot }) {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const [along, across] = [(to.x - from.x) / length, (to.y - from.y) / length];
  const start = nodeWidth(from.name) / 2 + 14;
  return (
    <g className={styles.queue}>
      {[0, 1, 2, 3].map((place) => {
        const [x, y] = [from.x + along * (start + place * 6), from.y + across * (start + place * 6)];
        return <line key={place} x1={x + across * 11} y1={y - along * 11} x2={x - across * 11} y2={y + along * 11} />;
      })}
    </g>
  );
}

function Ways({ laid }: { laid: Laid }) {
  const theme = useTheme();
  return laid.ways.map(({ entry, spots, count }, place) => {
    const shift = (place - (laid.ways.length - 1) / 2) * Math.min(SPREAD, 48 / laid.ways.length);
    const { variable, dash } = flowStyle(entry, theme);
    const points = spots.map((spot, index) => {
      const [before, after] = [spots[index - 1], spots[index + 1]];
      const aside = before && after ? shift : Math.max(-8, Math.min(8, shift));
      const across = Math.abs((after ?? spot).x - (before ?? spot).x) < 1;
      return across ? `${spot.x + aside},${spot.y}` : `${spot.x},${spot.y + aside}`;
    });
    return (
      <polyline
        key={`${entry} ${points.join(" ")}`}
        className={styles.way}
        points={points.join(" ")}
        stroke={variable}
        strokeWidth={Math.min(5, 2 + Math.log2(count))}
        strokeDasharray={dash.join(" ")}
      />
    );
  });
}

function Node({ spot }: { spot: Spot }) {
  const width = nodeWidth(spot.name);
  return (
    <g>
      <rect
        className={spot.kind === "host" ? styles.host : styles.switch}
        x={spot.x - width / 2}
        y={spot.y - 13}
        width={width}
        height={26}
        rx={spot.kind === "host" ? 13 : spot.kind === "router" ? 6 : 2}
      />
      <text className={styles.name} x={spot.x} y={spot.y + 4}>
        {spot.name}
      </text>
    </g>
  );
}

function LinkText({ from, to, words: { above, below }, width, access }: Shown) {
  // Between the nodes; with several parallel links closer to the host, where the lines are apart.
  const slanted = access && from.y !== to.y;
  const nearer = !slanted ? 0.5 : from.kind === "host" ? 0.38 : 0.62;
  const free = Math.sign(to.x - from.x) / 2;
  const [left, right] = [from.x + nodeWidth(from.name) * free, to.x - nodeWidth(to.name) * free];
  const [x, y] = [left + (right - left) * nearer, from.y + (to.y - from.y) * nearer];
  return (
    <g>
      <text className={access ? styles.words : styles.rate} x={x} y={y - Math.max(7, width / 2) - (access ? 3 : 7)}>
        {above}
      </text>
      {below.map((line, place) => (
        <text key={line} className={styles.words} x={x} y={y + width / 2 + LINE * (place + 1)}>
          {line}
        </text>
      ))}
    </g>
  );
}

/** The description for screen readers. */
function spoken(drawing: Drawn): string {
  const links = drawing.links
    .map((link) => ({ name: link.name, lines: linesOf(linkWords(link)) }))
    .filter(({ lines }) => lines.length > 0)
    .map(({ name, lines }) => `link ${name}: ${lines.join(", ")}`);
  const flows = drawing.flows.slice(0, 12).map((flow) => `flow ${flow.name} over ${flow.way.join(", ")}`);
  return `The path. ${[...links, ...flows].join(". ")}.`;
}
