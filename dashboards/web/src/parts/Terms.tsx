/** Terms with their meanings, and a term that shows its meaning on request. */
import { useState } from "react";
import { type Term, termsOf } from "../data/terms";
import { HelpButton } from "./HelpButton";
import styles from "./Terms.module.css";

export function Terms({ terms }: { terms: readonly Term[] }) {
  return terms.map(({ word, meaning }) => (
    <span key={word} className={styles.term}>
      <strong>{word}</strong>: {meaning}.
    </span>
  ));
}

/** A name with a question mark if the glossary knows it, or the word that is given for it. */
export function Explained({ name, word = name }: { name: string; word?: string }) {
  const [open, setOpen] = useState(false);
  const terms = termsOf(word);
  if (terms.length === 0) return name;
  return (
    <span className={styles.explained}>
      {name}
      <HelpButton about={name} open={open} onOpen={setOpen} />
      {open && (
        <span className={styles.meaning} role="note">
          <Terms terms={terms} />
        </span>
      )}
    </span>
  );
}
