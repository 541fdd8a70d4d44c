/** How much of the variance of a measure each swept field explains, with the means of its values. The service computes it. */
import { useQuery } from "@tanstack/react-query";
import { answered, api, type Schemas } from "../../api/client";
import { shortField } from "../../data/runList";
import { Drawing } from "../../drawings/Drawing";
import { ErrorNote } from "../../parts/ErrorNote";
import { type Column, Table } from "../../parts/Table";
import { Waiting } from "../../parts/Waiting";
import { count, percent, spellNumber } from "../../units";
import { nameOf, sayMeasure } from "./sweep";

type Found = Schemas["Importance"];

interface Row {
  key: string;
  name: string;
  share: number;
  isField: boolean;
}

interface Level {
  field: string;
  value: string;
  mean: number;
  runs: number;
}

const [ROW, TOP, NAME, SIDE] = [34, 10, 170, 70];

export function Importance({ id, word, file, version }: { id: string; word: string; file: string; version: string }) {
  const [measure = "", flow = ""] = word.split("@");
  const found = useQuery({
    queryKey: ["importance", id, word, version],
    placeholderData: (before) => before,
    queryFn: () =>
      answered(
        api.GET("/api/v1/experiments/{id}/importance", {
          params: { path: { id }, query: { measure, ...(flow ? { flow } : {}) } },
        }),
      ),
  });
  if (found.error) return <ErrorNote error={found.error} />;
  if (found.data === undefined) return <Waiting label="Reading the sweep" height="24rem" />;
  const rows = rowsOf(found.data);
  const levels: Level[] = found.data.fields.flatMap(({ fields, levels }) =>
    levels.map((one) => ({ field: fields.map(shortField).join(" and "), ...one })),
  );
  const columns: Column<Level>[] = [
    { key: "field", name: "Field", cell: (row) => row.field, by: (row) => row.field },
    { key: "value", name: "Value", cell: (row) => spellNumber(row.value), by: (row) => row.value },
    { key: "mean", name: "Mean", number: true, cell: (row) => sayMeasure(word, row.mean), by: (row) => row.mean },
    { key: "runs", name: "Runs", number: true, cell: (row) => count(row.runs), by: (row) => row.runs },
  ];
  return (
    <>
      <Drawing
        title={`Importance for ${nameOf(word)}`}
        file={`${file}-importance`}
        height={TOP * 2 + rows.length * ROW}
        leastWidth={340}
        rows={() => [["field", "share of the variance"], ...rows.map(({ name, share }) => [name, share])]}
        foot={
          <div className="foot">
            <p>
              {count(found.data.runs)} runs at {count(found.data.points)} points, mean{" "}
              {sayMeasure(word, found.data.mean)}, standard deviation over all runs{" "}
              {sayMeasure(word, found.data.deviation)}.
            </p>
            {found.data.notes.map((note) => (
              <p key={note}>Note: {note}.</p>
            ))}
            <p>{found.data.method}</p>
          </div>
        }
      >
        {(width) => {
          const whole = width - NAME - SIDE;
          return rows.map(({ key, name, share, isField }, at) => (
            <g key={key} transform={`translate(0 ${TOP + at * ROW})`} fontSize="12" fill="var(--text)">
              <text x={NAME - 10} y={ROW / 2 + 4} textAnchor="end" fill={isField ? "var(--text)" : "var(--text-2)"}>
                {name.length > 26 ? `${name.slice(0, 25)}…` : name}
                <title>{name}</title>
              </text>
              <rect x={NAME} y="6" width={whole} height={ROW - 12} fill="var(--raised)" />
              <rect
                x={NAME}
                y="6"
                width={Math.max(1, share * whole)}
                height={ROW - 12}
                fill={isField ? "var(--flow-0)" : "var(--line-strong)"}
              />
              <text x={NAME + whole + 8} y={ROW / 2 + 4}>
                {percent(Number(share.toFixed(4)))}
              </text>
            </g>
          ));
        }}
      </Drawing>
      {levels.length > 0 && (
        <Table
          label="Means of each value"
          columns={columns}
          rows={levels}
          rowKey={(row) => `${row.field} ${row.value}`}
        />
      )}
    </>
  );
}

function rowsOf({ fields, interactions, noise }: Found): Row[] {
  const found: Row[] = fields.map((one) => ({
    key: one.fields.join(),
    name: one.fields.map(shortField).join(" and "),
    share: one.share,
    isField: true,
  }));
  found.push({
    key: "interactions",
    name: noise === null ? "interactions and noise" : "interactions",
    share: interactions,
    isField: false,
  });
  if (noise !== null) found.push({ key: "noise", name: "noise between repeats", share: noise, isField: false });
  return found;
}
