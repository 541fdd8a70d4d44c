/** A search field over a list of options in groups: an ARIA combobox. The focus stays in the field; the arrows move through the options. */
import { type KeyboardEvent, type ReactNode, useId, useState } from "react";
import styles from "./Finder.module.css";

export interface FinderGroup<T> {
  /** Empty for options without a heading. */
  name: string;
  /** More about it, beside the name. */
  about?: string;
  options: readonly T[];
}

interface Props<T> {
  /** Of the field. */
  label: string;
  placeholder: string;
  /** Of the list. */
  list: string;
  groups: readonly FinderGroup<T>[];
  keyOf: (option: T) => string;
  show: (option: T) => ReactNode;
  sought: string;
  onSought: (text: string) => void;
  onTake: (option: T) => void;
  /** Enter without an option. */
  onMiss?: () => void;
  onClose: () => void;
  /** Whether Home and End move through the options, and not through the text. */
  ends?: boolean;
  /** How many options a page has. */
  page?: number;
  /** Classes in place of its own; that of the list may set its --height. */
  looks?: Partial<Record<"list" | "group" | "option", string | undefined>>;
  /** Shown below the options. */
  children?: ReactNode;
}

const MOST_LETTERS = 200;

export function Finder<T>({ label, placeholder, list, groups, keyOf, show, sought, onSought, ...more }: Props<T>) {
  const { onTake, onMiss, onClose, ends = true, page = 8, looks = {}, children } = more;
  const id = useId();
  // By its key, because options may arrive before it.
  const [key, setKey] = useState<string | null>(null);
  const options = groups.flatMap((group) => group.options);
  const place = Math.max(0, options.findIndex((one) => keyOf(one) === key)); // biome-ignore format: one look
  const chosen = options[place];
  const choose = (at: number): void => {
    const next = options[Math.max(0, Math.min(options.length - 1, at))];
    if (next !== undefined) setKey(keyOf(next));
  };
  const press = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return;
    const places: Record<string, number> = {
      ArrowDown: place + 1,
      ArrowUp: place - 1,
      PageDown: place + page,
      PageUp: place - page,
      ...(ends && { Home: 0, End: options.length - 1 }),
    };
    const at = event.shiftKey ? undefined : places[event.key];
    if (at !== undefined) {
      event.preventDefault();
      choose(at);
    } else if (event.key === "Escape") {
      // The browser itself would only clear the search.
      event.preventDefault();
      onClose();
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (chosen !== undefined) onTake(chosen);
      else onMiss?.();
    }
  };
  const optionId = (option: T): string => `${id}-${keyOf(option).replace(/\W+/g, "-")}`;
  return (
    <div className={styles.finder}>
      <input
        type="search"
        className={styles.search}
        placeholder={placeholder}
        aria-label={label}
        role="combobox"
        aria-expanded="true"
        aria-autocomplete="list"
        aria-controls={id}
        aria-activedescendant={chosen && optionId(chosen)}
        autoComplete="off"
        maxLength={MOST_LETTERS}
        value={sought}
        // biome-ignore lint/a11y/noAutofocus: the field is what the dialog is opened for
        autoFocus
        onChange={(event) => {
          onSought(event.target.value);
          setKey(null);
        }}
        onKeyDown={press}
      />
      <p role="status" className="unseen">
        {options.length === 1 ? "1 result" : `${options.length} results`}
      </p>
      <div className={`${styles.below} ${looks.list ?? ""}`}>
        <div id={id} role="listbox" aria-label={list} className={styles.list}>
          {groups.map((group) => (
            <Group key={group.name} {...group} look={looks.group}>
              {group.options.map((option) => (
                <Option
                  key={keyOf(option)}
                  id={optionId(option)}
                  isChosen={option === chosen}
                  onTake={() => onTake(option)}
                  look={looks.option}
                >
                  {show(option)}
                </Option>
              ))}
            </Group>
          ))}
        </div>
        {children}
      </div>
    </div>
  );
}

interface GroupProps {
  name: string;
  about?: string;
  look?: string | undefined;
  children: ReactNode;
}

export function Group({ name, about = "", look, children }: GroupProps) {
  if (name === "") return children;
  return (
    <div role="group" aria-label={name}>
      <div className={look ?? styles.group} aria-hidden="true">
        {about === "" ? name : <strong>{name}</strong>} {about}
      </div>
      {children}
    </div>
  );
}

interface OptionProps {
  id: string;
  isChosen: boolean;
  onTake: () => void;
  look?: string | undefined;
  children: ReactNode;
}

export function Option({ id, isChosen, onTake, look, children }: OptionProps) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Enter in the search does the same
    // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the search
    <div
      id={id}
      role="option"
      aria-selected={isChosen}
      className={look ?? styles.option}
      ref={(element) => {
        if (isChosen) element?.scrollIntoView({ block: "nearest" });
      }}
      // The search keeps the focus.
      onMouseDown={(event) => event.preventDefault()}
      onClick={onTake}
    >
      {children}
    </div>
  );
}
