/** A menu behind a name; a click elsewhere or Escape closes it. */
import { type ReactNode, useEffect, useRef } from "react";
import styles from "./Menu.module.css";

export function Menu({ label, name, children }: { label: string; name: ReactNode; children: ReactNode }) {
  const details = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event): void => {
      const menu = details.current;
      if (!menu?.open) return;
      const away = event instanceof KeyboardEvent && event.key === "Escape";
      if (away) menu.querySelector("summary")?.focus();
      if (away || (event.type === "pointerdown" && !menu.contains(event.target as Node))) menu.open = false;
    };
    document.addEventListener("pointerdown", close);
    document.addEventListener("keydown", close);
    return () => {
      document.removeEventListener("pointerdown", close);
      document.removeEventListener("keydown", close);
    };
  }, []);
  return (
    <details ref={details} className={styles.menu}>
      <summary aria-label={label}>{name}</summary>
      <div className={styles.content}>{children}</div>
    </details>
  );
}
