/** The layout of a path diagram: the first flow's path in a row, senders at its left, receivers at its right. Other nodes join it
 * from above (senders) or below (receivers). Many equal hosts become one.
 *
 *     a1 \                  / b1
 *     a2 -- s1 ======== s2 -- b2
 */
import type { Schemas } from "../../../api/client";

export type Drawing = Schemas["Drawing"];
export type Link = Drawing["links"][number];
export type Direction = Link["forward"];

export interface Spot {
  name: string;
  /** The number of nodes that it represents. */
  count: number;
  kind: string;
  x: number;
  y: number;
}

export interface Laid {
  spots: readonly Spot[];
  /** Links between spots; of several equal links only the first. */
  links: readonly { link: Link; from: Spot; to: Spot }[];
  /** Flows with the same path from the same entry are one line. */
  ways: readonly { entry: number; count: number; spots: readonly Spot[] }[];
  width: number;
  height: number;
}

const ROW = 52;
const SHORT = 104;
const MARGIN = 36;
// The widths of letters in the diagram.
const LETTER = 7.2;
/** More equal hosts than this at one node are drawn as one. */
const MOST_BESIDE = 5;

type Side = "left" | "right" | "up" | "down";
const STEP: Record<Side, readonly [number, number]> = { left: [-1, 0], right: [1, 0], up: [0, -1], down: [0, 1] };

interface Cell {
  name: string;
  column: number;
  row: number;
}

export function layOut(drawing: Drawing, textOf: (link: Link) => readonly string[]): Laid {
  const groups = grouped(drawing);
  const nameOf = (name: string): string => groups.get(name)?.[0] ?? name;
  const adjacent = neighbours(drawing, nameOf);
  const cells = placed(drawing, adjacent, nameOf);
  const links = drawing.links
    .filter((link, place, all) => {
      const ends = (one: Link): string => one.ends.map(nameOf).join(" ");
      return all.findIndex((other) => ends(other) === ends(link)) === place;
    })
    .map((link) => ({ link, ends: link.ends.map(nameOf), lines: textOf(link) }));
  const widths = new Map(cells.map(({ name }) => [name, nodeWidth(shownName(groups.get(name) ?? [name]))]));
  const columns = columnPlaces(cells, links, widths);
  const edge = Math.max(MARGIN, ...[...widths.values()].map((width) => width / 2 + 6));
  const rows = cells.map((cell) => cell.row);
  const [top, bottom] = [Math.min(0, ...rows), Math.max(0, ...rows)];
  const kinds = new Map(drawing.nodes.map((node) => [node.name, node.kind]));
  const spots = new Map(
    cells.map(({ name, column, row }): [string, Spot] => {
      const members = groups.get(name) ?? [name];
      const shown = shownName(members);
      const [x, y] = [edge + (columns.get(column) ?? 0), MARGIN + (row - top) * ROW];
      return [name, { name: shown, count: members.length, kind: kinds.get(name) ?? "host", x, y }];
    }),
  );
  return {
    spots: [...spots.values()],
    links: links.flatMap(({ link, ends }) => {
      const [from, to] = [spots.get(ends[0] ?? ""), spots.get(ends[1] ?? "")];
      return from && to ? [{ link, from, to }] : [];
    }),
    ways: waysOf(drawing, nameOf, spots),
    width: 2 * edge + Math.max(0, ...columns.values()),
    height: 2 * MARGIN + (bottom - top) * ROW,
  };
}

function shownName(members: readonly string[]): string {
  return members.length > 1 ? `${members[0]} … ${members.at(-1)}` : (members[0] ?? "");
}

export function nodeWidth(name: string): number {
  return Math.max(34, name.length * LETTER + 16);
}

/** Groups many hosts with equal links at one node under the name of the first. */
function grouped(drawing: Drawing): Map<string, readonly string[]> {
  const degrees = new Map<string, number>();
  for (const link of drawing.links) for (const end of link.ends) degrees.set(end, (degrees.get(end) ?? 0) + 1);
  const alike = new Map<string, string[]>();
  for (const link of drawing.links) {
    const leaf = link.ends.find((end) => degrees.get(end) === 1);
    if (leaf === undefined) continue;
    const letters = leaf.replace(/\d+$/, "");
    const key = JSON.stringify([
      link.ends.indexOf(leaf),
      link.ends.find((end) => end !== leaf),
      letters,
      link.forward,
      link.reverse,
    ]);
    alike.set(key, [...(alike.get(key) ?? []), leaf]);
  }
  const found = new Map<string, readonly string[]>();
  for (const members of alike.values()) {
    if (members.length > MOST_BESIDE) for (const name of members) found.set(name, members);
  }
  return found;
}

function neighbours(drawing: Drawing, nameOf: (name: string) => string): Map<string, Set<string>> {
  const adjacent = new Map<string, Set<string>>(drawing.nodes.map((node) => [nameOf(node.name), new Set<string>()]));
  for (const link of drawing.links) {
    const [one, other] = [nameOf(link.ends[0]), nameOf(link.ends[1])];
    if (one === other) continue;
    adjacent.get(one)?.add(other);
    adjacent.get(other)?.add(one);
  }
  return adjacent;
}

function placed(drawing: Drawing, adjacent: Map<string, Set<string>>, nameOf: (name: string) => string): Cell[] {
  const ways = drawing.flows.map((flow) => flow.way.map(nameOf));
  const longest = ways.reduce<readonly string[]>((best, way) => (way.length > best.length ? way : best), []);
  const spine =
    longest.length > 2 ? longest.slice(1, -1) : longest.length > 0 ? longest : [...adjacent.keys()].slice(0, 1);
  const senders = new Set(ways.map((way) => way[0] ?? ""));
  const cells = new Map<string, Cell>(spine.map((name, place) => [name, { name, column: place + 1, row: 0 }]));
  spine.forEach((name, place) => {
    const hanging = [...(adjacent.get(name) ?? [])].filter((other) => !cells.has(other));
    const [sending, receiving] = [
      hanging.filter((one) => senders.has(one)),
      hanging.filter((one) => !senders.has(one)),
    ];
    stack(sending, place === 0 ? "left" : "up", name);
    stack(receiving, place === spine.length - 1 ? "right" : "down", name);
  });
  function stack(names: readonly string[], side: Side, at: string): void {
    const from = cells.get(at);
    if (from === undefined) return;
    const [across, along] = STEP[side];
    names.forEach((name, place) => {
      if (cells.has(name)) return;
      const shift = place - (names.length - 1) / 2;
      const column = from.column + across + (along === 0 ? 0 : shift * 0.62);
      cells.set(name, { name, column, row: from.row + along * 1.25 + (across === 0 ? 0 : shift) });
    });
    for (const name of names)
      stack(
        [...(adjacent.get(name) ?? [])].filter((other) => !cells.has(other)),
        side,
        name,
      );
  }
  return [...cells.values()];
}

/** A link with a text is longer. */
function columnPlaces(
  cells: readonly Cell[],
  links: readonly { ends: readonly string[]; lines: readonly string[] }[],
  widths: ReadonlyMap<string, number>,
): Map<number, number> {
  const columnOf = new Map(cells.map((cell) => [cell.name, cell.column]));
  const all = [...new Set(cells.map((cell) => cell.column))].sort((a, b) => a - b);
  const widest = (column: number): number =>
    Math.max(...cells.filter((cell) => cell.column === column).map((cell) => widths.get(cell.name) ?? 0));
  const gap = (left: number, right: number): number => {
    const across = links.filter(({ ends }) => {
      const [a, b] = ends.map((end) => columnOf.get(end) ?? 0);
      return Math.min(a ?? 0, b ?? 0) <= left && Math.max(a ?? 0, b ?? 0) >= right;
    });
    const longest = Math.max(0, ...across.flatMap(({ lines }) => lines.map((line) => line.length)));
    return Math.max(SHORT, longest * 6.4 + 28 + (widest(left) + widest(right)) / 2);
  };
  const places = new Map<number, number>();
  let x = 0;
  all.forEach((column, place) => {
    const before = all[place - 1];
    if (before !== undefined) x += gap(before, column) * Math.min(1, column - before);
    places.set(column, x);
  });
  return places;
}

function waysOf(drawing: Drawing, nameOf: (name: string) => string, spots: ReadonlyMap<string, Spot>): Laid["ways"] {
  const found = new Map<string, { entry: number; count: number; spots: Spot[] }>();
  for (const flow of drawing.flows) {
    const names = flow.way.map(nameOf);
    const key = `${flow.entry} ${names.join(" ")}`;
    const known = found.get(key);
    if (known) known.count += 1;
    else found.set(key, { entry: flow.entry, count: 1, spots: names.flatMap((name) => spots.get(name) ?? []) });
  }
  return [...found.values()];
}
