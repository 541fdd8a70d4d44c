/** A list of fields behind a search, in groups: a combobox that arrow keys, Enter and Escape operate. */
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { Group, Option } from "../../../parts/Finder";
import styles from "./FieldPicker.module.css";
import { matching, type SweepField } from "./sweepFields";

interface Props {
  label: string;
  prompt: string;
  fields: readonly SweepField[];
  disabled: boolean;
  onPick: (field: string) => void;
}

export function FieldPicker({ label, prompt, fields, disabled, onPick }: Props) {
  const id = useId();
  const [sought, setSought] = useState("");
  const [open, setOpen] = useState(false);
  const [place, setPlace] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The bar at the lower edge would cover it.
    if (open) list.current?.scrollIntoView({ block: "nearest" });
  }, [open]);
  const found = matching(fields, sought);
  const groups = [...new Set(found.map((one) => one.group))];
  // The keys follow the order of the groups on the screen.
  const shown = groups.flatMap((group) => found.filter((one) => one.group === group));
  const active = open ? shown[Math.min(place, shown.length - 1)] : undefined;
  const optionId = (one: SweepField): string => `${id}-${fields.indexOf(one)}`;
  const close = (): void => {
    setOpen(false);
    setPlace(0);
  };
  const pick = (one: SweepField | undefined): void => {
    if (one === undefined) return;
    setSought("");
    close();
    onPick(one.field);
  };
  const press = (event: KeyboardEvent): void => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (by !== undefined) {
      event.preventDefault();
      setPlace(open ? Math.max(0, Math.min(shown.length - 1, place + by)) : 0);
      setOpen(true);
    } else if (event.key === "Enter") {
      event.preventDefault();
      pick(active);
    } else if (event.key === "Escape") {
      if (!open) setSought("");
      close();
    }
  };
  return (
    <div className={styles.picker}>
      <input
        type="text"
        role="combobox"
        className={styles.search}
        aria-label={label}
        aria-expanded={open}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={active && optionId(active)}
        autoComplete="off"
        spellCheck={false}
        placeholder={prompt}
        disabled={disabled}
        value={sought}
        onChange={(event) => {
          setSought(event.target.value);
          setPlace(0);
          setOpen(true);
        }}
        onClick={() => setOpen(true)}
        onBlur={close}
        onKeyDown={press}
      />
      <div ref={list} id={`${id}-list`} role="listbox" aria-label={label} className={styles.list} hidden={!open}>
        {open &&
          groups.map((group) => (
            <Group key={group} name={group} look={styles.group}>
              {found
                .filter((one) => one.group === group)
                .map((one) => (
                  <Option
                    key={one.field}
                    id={optionId(one)}
                    isChosen={one === active}
                    onTake={() => pick(one)}
                    look={styles.option}
                  >
                    <strong>{one.name}</strong> <code>{one.field}</code>
                    {one.about !== "" && <small>{one.about}</small>}
                  </Option>
                ))}
            </Group>
          ))}
        {open && found.length === 0 && <p className="none">No field has all of these words.</p>}
      </div>
    </div>
  );
}
