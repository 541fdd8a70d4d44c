/** The order of the list, the choice of its columns, saved views, and the list as a table to download. */
import { addressOf } from "../../api/address";
import { ORDERS_OF_GROUPS, runsQuery, type View } from "../../data/runList";
import { Button } from "../../parts/Button";
import { Menu } from "../../parts/Menu";
import { Select } from "../../parts/Select";
import { choices, USUAL } from "./columns";
import { groupOrder } from "./groups";
import styles from "./Runs.module.css";
import { SavedViews } from "./SavedViews";

interface Props {
  view: View;
  /** The swept fields of the rows in sight. */
  fields: readonly string[];
  change: (change: Partial<View>) => void;
}

export function Arrange({ view, fields, change }: Props) {
  const runs = view.what === "runs";
  const shown = view.columns.length > 0 ? view.columns : USUAL;
  const kept = shown.filter((key) => key.startsWith("point.")).map((key) => key.slice("point.".length));
  const all = choices([...new Set([...kept, ...fields])]);
  const toggle = (key: string): void => {
    const next = shown.includes(key) ? shown.filter((one) => one !== key) : [...shown, key];
    const usual = next.length === USUAL.length && next.every((one) => USUAL.includes(one));
    // At least one stays: none would be the usual ones.
    if (next.length > 0) change({ columns: usual ? [] : next });
  };
  return (
    <>
      <div className={styles.order}>
        <span aria-hidden="true">Order</span>
        <Select
          aria-label="Order"
          value={view.sort}
          choices={view.group && runs ? groupOrders(all) : orders(runs ? all : [], view.sort)}
          onChange={(sort) => change({ sort })}
        />
      </div>
      <div className={styles.menu}>
        {runs && (
          <label className="inline" title="One row for each experiment, with the means of its runs">
            <input
              type="checkbox"
              checked={view.group}
              onChange={({ target }) =>
                change({
                  group: target.checked,
                  sort: target.checked
                    ? groupOrder(view.sort)
                    : ORDERS_OF_GROUPS.includes(view.sort)
                      ? "newest"
                      : view.sort,
                })
              }
            />
            Group by experiment
          </label>
        )}
        {runs && (
          <Menu label="Columns" name="Columns">
            <fieldset className={styles.columns}>
              <legend className="unseen">Columns</legend>
              {all.map(({ key, name }) => (
                <label key={key}>
                  <input type="checkbox" checked={shown.includes(key)} onChange={() => toggle(key)} />
                  {name}
                </label>
              ))}
              <Button kind="quiet" disabled={view.columns.length === 0} onClick={() => change({ columns: [] })}>
                Usual columns
              </Button>
            </fieldset>
          </Menu>
        )}
        <SavedViews view={view} />
        {runs && (
          <a href={tableOf(view)} download="runs.csv" title="All runs that match, with these columns">
            CSV
          </a>
        )}
      </div>
    </>
  );
}

/** The address of the whole list as a table. */
function tableOf(view: View): string {
  const { limit: _, ...asked } = runsQuery(view);
  const shown = view.columns.length > 0 ? view.columns : USUAL;
  const query = new URLSearchParams({ columns: shown.join(",") });
  for (const [name, value] of Object.entries(asked)) {
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one));
  }
  return addressOf(`/api/v1/run-table?${query}`);
}

/** Columns that are no order. */
const UNSORTED = ["cc", "path"];

function orders(columns: readonly { key: string; name: string }[], now: string): readonly [string, string][] {
  const known: [string, string][] = [
    ["newest", "Newest first"],
    ["oldest", "Oldest first"],
  ];
  if (columns.length > 0) known.push(["name", "Name, from a"], ["-name", "Name, from z"]);
  for (const { key, name } of columns) {
    if (UNSORTED.includes(key)) continue;
    const [up, down] = WORDS[key] ?? ["least first", "most first"];
    known.push([key, `${name}, ${up}`], [`-${key}`, `${name}, ${down}`]);
  }
  return known.some(([value]) => value === now) ? known : [...known, [now, now]];
}

/** The orders of the list by experiment. */
function groupOrders(columns: readonly { key: string; name: string }[]): readonly [string, string][] {
  const known: [string, string][] = [
    ...orders(columns, "newest"),
    ["-runs", "Most runs first"],
    ["runs", "Fewest runs first"],
  ];
  return known.filter(([value]) => groupOrder(value) === value);
}

const WORDS: Record<string, readonly [string, string]> = {
  owner: ["from a", "from z"],
  start: ["first", "last"],
  end: ["first", "last"],
};
