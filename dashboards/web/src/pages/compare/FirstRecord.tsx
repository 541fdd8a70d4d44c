/** The first record in which the traces of two runs differ, looked for on request: the service reads both traces. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api } from "../../api/client";
import { Button } from "../../parts/Button";
import { ErrorNote } from "../../parts/ErrorNote";
import { type Column, Table } from "../../parts/Table";
import { Waiting } from "../../parts/Waiting";

type Side = Record<string, number> | null;

interface Difference {
  text: string;
  a: Side;
  b: Side;
}

interface Field {
  name: string;
  a: number | undefined;
  b: number | undefined;
}

const COLUMNS: Column<Field>[] = [
  { key: "field", name: "Field", cell: (row) => (row.a === row.b ? row.name : <strong>{row.name}</strong>) },
  { key: "a", name: "A", number: true, cell: (row) => numberText(row.a) },
  { key: "b", name: "B", number: true, cell: (row) => numberText(row.b) },
];

export function FirstRecord({ a, b }: { a: string; b: string }) {
  const [wanted, setWanted] = useState(false);
  const found = useQuery({
    queryKey: ["comparison", a, b, "trace"],
    enabled: wanted,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () => answered(api.GET("/api/v1/comparisons", { params: { query: { a, b, trace: true } } })),
  });
  if (!wanted) return <Button onClick={() => setWanted(true)}>Find the first record that differs</Button>;
  if (found.error) return <ErrorNote error={found.error} />;
  if (found.data === undefined) return <Waiting label="Reading both traces" height="4rem" />;
  const [difference] = (found.data.trace_differences ?? []) as Difference[];
  if (difference === undefined) return <p>The traces are identical.</p>;
  return (
    <>
      <p>{difference.text}</p>
      <Table label="Record" columns={COLUMNS} rows={fieldsOf(difference)} rowKey={(row) => row.name} />
    </>
  );
}

/** The fields of the record, those that differ first. */
function fieldsOf({ a, b }: Pick<Difference, "a" | "b">): Field[] {
  const rows = Object.keys(a ?? b ?? {}).map((name) => ({ name, a: a?.[name], b: b?.[name] }));
  return [...rows.filter((row) => row.a !== row.b), ...rows.filter((row) => row.a === row.b)];
}

function numberText(value: number | undefined): string {
  return value === undefined ? "–" : String(value);
}
