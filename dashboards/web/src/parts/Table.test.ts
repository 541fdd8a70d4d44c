import { expect, test } from "vitest";
import { type Column, sortedRows } from "./Table";

interface Row {
  name: string;
  rate: number | null;
}

const COLUMNS: readonly Column<Row>[] = [
  { key: "name", name: "Name", cell: (row) => row.name, by: (row) => row.name },
  { key: "rate", name: "Rate", cell: (row) => row.rate, by: (row) => row.rate },
  { key: "plain", name: "Plain", cell: () => "" },
];
const ROWS: readonly Row[] = [
  { name: "flow-10", rate: 2 },
  { name: "flow-9", rate: null },
  { name: "flow-1", rate: 10 },
];

test.each([
  ["name", ["flow-1", "flow-9", "flow-10"]],
  ["-name", ["flow-10", "flow-9", "flow-1"]],
  ["rate", ["flow-10", "flow-1", "flow-9"]],
  ["-rate", ["flow-1", "flow-10", "flow-9"]],
  ["", ["flow-10", "flow-9", "flow-1"]],
  ["plain", ["flow-10", "flow-9", "flow-1"]],
  ["none", ["flow-10", "flow-9", "flow-1"]],
])("sorted by %s", (sort, names) => {
  expect(sortedRows(ROWS, COLUMNS, sort).map((row) => row.name)).toEqual(names);
});
