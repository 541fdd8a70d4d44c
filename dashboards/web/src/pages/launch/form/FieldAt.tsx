/** One field of the experiment: its control comes from the schema, its error from the service; its description shows while it has the focus, or on request. */
import { useId, useState } from "react";
import { termsOf } from "../../../data/terms";
import { HelpButton } from "../../../parts/HelpButton";
import { type Choices, Select } from "../../../parts/Select";
import { Terms } from "../../../parts/Terms";
import { NONE } from "../../../units";
import { mistakeAt } from "../problems";
import { type Schema, schemaAt } from "../schema";
import { type Location, type Value, valueAt } from "../yamlText";
import { listed, textOf, useEdit, write } from "./edit";
import styles from "./Form.module.css";
import { MistakeText } from "./MistakeText";

interface Props {
  at: Location;
  label?: string;
  help?: string;
  placeholder?: string;
  /** Replaces the values that the schema allows. */
  choices?: readonly string[];
  /** Suggestions for a free text. */
  offers?: readonly string[];
  /** Converts the text to a value, if the schema does not determine it. */
  read?: (text: string) => Value;
  wide?: boolean;
  /** Replaces the writing of a value that is not empty. */
  onPick?: (text: string) => void;
  /** The value of an empty field; without it, the field is removed. */
  empty?: Value;
}

export function FieldAt({ at, label, help, placeholder, choices, offers, read, wide = false, onPick, empty }: Props) {
  const { data, schema, mistakes } = useEdit();
  const id = useId();
  const found = schema && schemaAt(schema, at);
  const value = valueAt(data, at);
  const mistake = mistakeAt(mistakes, at, { below: typeof value === "object" });
  const words = choices ?? choicesOf(found);
  const initial = placeholder ?? defaultOf(found);
  const about = help ?? found?.description ?? "";
  const terms = termsOf(String(at.at(-1)), `${about} ${textOf(value)}`, textOf(value));
  const [asked, setAsked] = useState(false);
  const wiring = {
    id,
    disabled: data === null,
    "aria-invalid": mistake !== undefined,
    "aria-describedby": `${id}-about`,
    className: styles.control,
  };
  const commit = (text: string): void => {
    if (onPick && text.trim() !== "") onPick(text.trim());
    else write(at, text.trim() === "" ? empty : (read ?? ((one) => typed(found, one)))(text), schema);
  };
  return (
    <div className={wide ? styles.wide : styles.field}>
      <div className={styles.named}>
        <label htmlFor={id}>{label ?? labelOf(at)}</label>
        {(about || terms.length > 0) && (
          <HelpButton about={label ?? labelOf(at)} open={asked} onOpen={setAsked} stop={false} />
        )}
      </div>
      {words ? (
        <Choice value={textOf(value)} initial={initial} words={words} onChange={commit} wiring={wiring} />
      ) : (
        <TextInput value={textOf(value)} placeholder={initial} onChange={commit} wiring={wiring} offers={offers} />
      )}
      <div className={mistake ? styles.mistake : styles.help} data-open={asked} ref={asked ? inSight : null}>
        <span id={`${id}-about`}>{mistake ? <MistakeText mistake={mistake} /> : about}</span>
        {!mistake && <Terms terms={terms} />}
      </div>
    </div>
  );
}

function inSight(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "nearest" });
}

interface Wiring {
  id: string;
  disabled: boolean;
  "aria-invalid": boolean;
  "aria-describedby": string;
  className: string | undefined;
}

interface ControlProps {
  value: string;
  onChange: (text: string) => void;
  wiring: Wiring;
}

/** While typing, the field keeps its own text: the text of the experiment has no trailing spaces. */
export function TextInput({
  value,
  placeholder,
  onChange,
  wiring,
  offers,
}: ControlProps & { placeholder: string; offers?: readonly string[] | undefined }) {
  const [typing, setTyping] = useState<string | null>(null);
  const isSame = (one: string): boolean => one.trim() === value || isSameNumber(one, value) || isSameList(one, value);
  const shown = typing !== null && isSame(typing) ? typing : value;
  return (
    <>
      <input
        type="text"
        autoComplete="off"
        spellCheck={false}
        placeholder={placeholder}
        list={offers && `${wiring.id}-offers`}
        value={shown}
        onChange={(event) => {
          setTyping(event.target.value);
          onChange(event.target.value);
        }}
        onBlur={() => setTyping(null)}
        {...wiring}
      />
      {offers && (
        <datalist id={`${wiring.id}-offers`}>
          {offers.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
    </>
  );
}

/** "5." while typing 5.5 equals 5. */
function isSameNumber(one: string, other: string): boolean {
  return one.trim() !== "" && other !== "" && Number(one) === Number(other);
}

/** "a1," while typing a1, b1 equals a1. */
function isSameList(one: string, other: string): boolean {
  return textOf(listed(one)) === other;
}

function Choice({ initial, words, wiring, ...more }: ControlProps & { initial: string; words: readonly string[] }) {
  const { value } = more;
  const none: Choices<string> = initial !== "" || value === "" ? [["", initial || NONE]] : [];
  const unknown = words.includes(value) || value === "" ? [] : [value];
  const others = words.filter((word) => word !== initial || word === value);
  return <Select data-default={value === ""} choices={[...none, ...unknown, ...others]} {...more} {...wiring} />;
}

/** The value of a text by the schema: numbers are not quoted. */
export function typed(schema: Schema | null, text: string): Value {
  const trimmed = text.trim();
  const types = [schema?.type ?? []].flat();
  const number = Number(trimmed);
  // A text such as 1e-5 stays as it is written, where the format allows texts.
  const isText = types.includes("string") && /^[0-9]+e/i.test(trimmed);
  const wantsNumber = !isText && (types.includes("number") || types.includes("integer"));
  if (schema?.["x-quantity"] === "switch" && (trimmed === "on" || trimmed === "off")) return trimmed;
  return wantsNumber && trimmed !== "" && Number.isFinite(number) ? number : trimmed;
}

function choicesOf(schema: Schema | null): readonly string[] | null {
  return schema?.enum ? schema.enum.map(String) : null;
}

function defaultOf(schema: Schema | null): string {
  const initial = schema?.default;
  return typeof initial === "object" || initial === undefined ? "" : textOf(initial as Value);
}

/** "initial_window" -> "Initial window". */
export function labelOf(at: Location): string {
  const key = String(at.at(-1) ?? "").replaceAll("_", " ");
  return ABBREVIATIONS[key] ?? key.charAt(0).toUpperCase() + key.slice(1);
}

const ABBREVIATIONS: Readonly<Record<string, string>> = {
  rtt: "RTT",
  mtu: "MTU",
  ecn: "ECN",
  ect: "ECT",
  sack: "SACK",
  cc: "Congestion control",
  udp: "UDP rate",
  hystart: "HyStart",
};
