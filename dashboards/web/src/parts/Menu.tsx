/** A menu behind a name; a click elsewhere or Escape closes it. */
import { type ReactNode, useEffect, useRef, useState } from "react";
import styles from "./Menu.module.css";

interface Props {
  label: string;
  name: ReactNode;
  onOpen?: () => void;
  children: ReactNode;
}

export function Menu({ label, name, onOpen, children }: Props) {
  const details = useRef<HTMLDetailsElement>(null);
  // Whether the menu would leave the screen, as it does on a phone if its name is on the left.
  const [out, setOut] = useState(false);
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
    <details
      ref={details}
      className={styles.menu}
      onToggle={(event) => {
        const { open, lastElementChild } = event.currentTarget;
        setOut(open && (lastElementChild?.getBoundingClientRect().left ?? 0) < 0);
        if (open) onOpen?.();
      }}
    >
      <summary aria-label={label}>{name}</summary>
      <div className={styles.content} data-out={out}>
        {children}
      </div>
    </details>
  );
}
