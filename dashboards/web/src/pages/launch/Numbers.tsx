/** The numbers of the first run, the cost of the experiment, and notes on it. */
import { Notes } from "../../parts/Notes";
import { Panel } from "../../parts/Panel";
import { bdp, count, digits, duration, packets, rate, size, wait } from "../../units";
import styles from "./Launch.module.css";
import type { Preview } from "./preview";

const US = 1e-6;

type Row = readonly [name: string, value: string, more: string];

const NAMES = ["Bottleneck", "Base RTT", "BDP", "Buffer", "Slow start", "Packets", "Time per run", "Total time"];
const BLANK = "\u00a0";

/** Without a preview the names alone, in the same place, so that nothing below them moves when the values come. */
export function Numbers({ preview, fresh }: { preview: Preview | null; fresh: boolean }) {
  const rows = preview ? rowsOf(preview) : NAMES.map((name): Row => [name, BLANK, BLANK]);
  return (
    <Panel title={preview && preview.points > 1 ? "Numbers of the first point" : "Numbers"}>
      <dl className={styles.numbers} data-fresh={fresh} aria-busy={preview === null}>
        {rows.map(([name, value, more]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {value}
              <small>{more}</small>
            </dd>
          </div>
        ))}
      </dl>
      {preview && <Notes notes={preview.lint} />}
    </Panel>
  );
}

function rowsOf(preview: Preview): Row[] {
  const { numbers } = preview;
  return [
    [
      "Bottleneck",
      rate(numbers.bandwidth_bps),
      `${count(numbers.packets_per_s)} packets/s of ${numbers.frame_bytes} B`,
    ],
    [
      "Base RTT",
      duration(numbers.rtt_us * US),
      `${duration(numbers.forward_us * US)} + ${duration(numbers.reverse_us * US)}`,
    ],
    ["BDP", packets(numbers.bdp_packets), size(numbers.bdp_bytes)],
    [
      "Buffer",
      packets(numbers.buffer_packets),
      `${bdp(numbers.buffer_bdp)}, ${duration(Number((numbers.buffer_us * US).toPrecision(3)))} when full`,
    ],
    ["Slow start", `about ${duration(numbers.slow_start_us * US)}`, "to fill the path"],
    ["Packets", count(numbers.data_packets), "at most, per run"],
    [
      "Time per run",
      about(numbers.wall_s),
      `for ${wait(numbers.duration_us * US)}, in ${digits(numbers.memory_mb)} MB`,
    ],
    [
      "Total time",
      about(preview.wall_estimate_s / Math.max(1, Math.min(preview.slots, preview.runs))),
      `${count(preview.runs)} ${preview.runs === 1 ? "run" : "runs"}, ${preview.slots} at a time`,
    ],
  ];
}

/** An estimate, with two digits. */
export function about(seconds: number): string {
  return wait(Number(seconds.toPrecision(2)));
}
