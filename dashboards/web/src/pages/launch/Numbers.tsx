/** The numbers of the first run, the cost of the experiment, and notes on it. */
import { Notes } from "../../parts/Notes";
import { Panel } from "../../parts/Panel";
import { Explained } from "../../parts/Terms";
import { bdp, count, digits, duration, packets, rate, size, wait } from "../../units";
import styles from "./Launch.module.css";
import type { Preview } from "./preview";

const US = 1e-6;

/** The words of the glossary for some of the names. */
const TERMS: Readonly<Record<string, string>> = {
  "Base RTT": "RTT",
  Buffer: "buffer",
  Packets: "",
  "Slow start": "slow start",
};

const BLANK = ["\u00a0", "\u00a0"] as const;

/** The name of each number, its value, and more about it. */
const ROWS: readonly (readonly [string, (preview: Preview) => readonly [string, string]])[] = [
  [
    "Bottleneck",
    ({ numbers }) => [
      rate(numbers.bandwidth_bps),
      `${count(numbers.packets_per_s)} packets/s of ${numbers.frame_bytes} B`,
    ],
  ],
  [
    "Base RTT",
    ({ numbers }) => [
      duration(numbers.rtt_us * US),
      `${duration(numbers.forward_us * US)} + ${duration(numbers.reverse_us * US)}`,
    ],
  ],
  ["BDP", ({ numbers }) => [packets(numbers.bdp_packets), size(numbers.bdp_bytes)]],
  [
    "Buffer",
    ({ numbers }) => [
      packets(numbers.buffer_packets),
      `${bdp(numbers.buffer_bdp)}, ${duration(Number((numbers.buffer_us * US).toPrecision(3)))} when full`,
    ],
  ],
  ["Slow start", ({ numbers }) => [`about ${duration(numbers.slow_start_us * US)}`, "to fill the path"]],
  ["Packets", ({ numbers }) => [count(numbers.data_packets), "at most, per run"]],
  ["Time per run", ({ numbers }) => [about(numbers.wall_s), `for ${wait(numbers.duration_us * US)}`]],
  [
    "Memory per run",
    ({ numbers }) => [
      `about ${digits(Math.round(numbers.memory_estimate_mb))} MB`,
      `of a guest of ${digits(numbers.memory_mb)} MB`,
    ],
  ],
  [
    "Total time",
    ({ wall_estimate_s, slots, runs }) => [
      about(wall_estimate_s / Math.max(1, Math.min(slots, runs))),
      `${count(runs)} ${runs === 1 ? "run" : "runs"}, ${slots} at a time`,
    ],
  ],
];

/** Without a preview the names alone, in the same place, so that nothing below them moves when the values come. */
export function Numbers({ preview, fresh }: { preview: Preview | null; fresh: boolean }) {
  return (
    <Panel title={preview && preview.points > 1 ? "Numbers of the first point" : "Numbers"}>
      <dl className={styles.numbers} data-fresh={fresh} aria-busy={preview === null}>
        {ROWS.map(([name, read]) => {
          const [value, more] = preview ? read(preview) : BLANK;
          return (
            <div key={name}>
              <dt>
                <Explained name={name} word={TERMS[name] ?? name} />
              </dt>
              <dd>
                {value}
                <small>{more}</small>
              </dd>
            </div>
          );
        })}
      </dl>
      {preview && <Notes notes={preview.lint} />}
    </Panel>
  );
}

/** An estimate, with two digits. */
export function about(seconds: number): string {
  return wait(Number(seconds.toPrecision(2)));
}
