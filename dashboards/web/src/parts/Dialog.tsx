/** Something in front of everything else: the browser's own dialog, which holds the focus, ends with Escape and gives it back. */
import { type ReactNode, useId, useLayoutEffect, useRef } from "react";
import styles from "./Dialog.module.css";

interface Props {
  title: string;
  /** Without it the dialog does not go away by itself. */
  onClose?: () => void;
  children: ReactNode;
}

/** There while it is rendered. */
export function Dialog({ title, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // Before it is taken out of the page: the browser then gives the focus back to where it was.
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape does the same
    <dialog
      ref={dialog}
      className={styles.dialog}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
      onClick={(event) => event.target === dialog.current && onClose?.()}
    >
      <div className={styles.inside}>
        <h2 id={heading}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}
