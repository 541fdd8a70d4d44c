/** A question mark beside a term; it shows and hides the help, and a click elsewhere or Escape hides it. */
import styles from "./HelpButton.module.css";

interface Props {
  /** The term that the help is about. */
  about: string;
  open: boolean;
  onOpen: (open: boolean) => void;
  /** Whether the Tab key stops here; not where the help appears with the focus of the field as well. */
  stop?: boolean;
}

export function HelpButton({ about, open, onOpen, stop = true }: Props) {
  return (
    <button
      type="button"
      className={styles.help}
      aria-expanded={open}
      tabIndex={stop ? 0 : -1}
      onClick={() => onOpen(!open)}
      onBlur={() => onOpen(false)}
      onKeyDown={(event) => event.key === "Escape" && onOpen(false)}
    >
      <span aria-hidden="true">?</span>
      <span className="unseen">About {about}</span>
    </button>
  );
}
