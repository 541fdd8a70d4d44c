/** A button. One `primary` per view; `busy` while the action is running, without a change of width. */
import type { ButtonHTMLAttributes, ReactNode } from "react";
import styles from "./Button.module.css";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: "primary" | "plain" | "quiet" | "danger";
  busy?: boolean;
  children: ReactNode;
}

export function Button({ kind = "plain", busy = false, className = "", disabled, children, ...more }: Props) {
  return (
    <button
      type="button"
      {...more}
      className={`${styles.button} ${styles[kind]} ${className}`}
      disabled={disabled || busy}
      aria-busy={busy}
    >
      {children}
    </button>
  );
}

/** A link that looks like a button. */
export function LinkButton({
  href,
  kind = "plain",
  download,
  children,
}: {
  href: string;
  kind?: "primary" | "plain" | "quiet";
  download?: boolean;
  children: ReactNode;
}) {
  return (
    <a href={href} className={`${styles.button} ${styles[kind]}`} download={download}>
      {children}
    </a>
  );
}
