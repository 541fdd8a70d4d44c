/** The text editor: CodeMirror once it is loaded, before that a plain text field. Its code is loaded when the editor is visible:
 * on a phone when the user switches to the text.
 */
import { useEffect, useRef, useState } from "react";
import { useLatest } from "../../../hooks";
import type { EditorHandle } from "./codemirror";
import type { Known } from "./completion";
import styles from "./Editor.module.css";
import type { Mark } from "./marks";

interface Props {
  text: string;
  marks: readonly Mark[];
  known: Known;
  onText: (text: string) => void;
  onLaunch: () => void;
  /** A position to go to; each new object is a new jump. */
  shown: { from: number; to: number } | null;
}

const LABEL = "Experiment as YAML";

export function Editor({ text, marks, known, onText, onLaunch, shown }: Props) {
  const whole = useRef<HTMLDivElement>(null);
  const place = useRef<HTMLDivElement>(null);
  const handle = useRef<EditorHandle | null>(null);
  const [ready, setReady] = useState(false);
  const latest = useLatest({ text, known, onText, onLaunch });
  useEffect(() => {
    let left = false;
    const open = ({ openEditor }: typeof import("./codemirror")): void => {
      if (left || place.current === null) return;
      handle.current = openEditor(place.current, {
        text: latest.current.text,
        label: LABEL,
        onText: (next) => latest.current.onText(next),
        onLaunch: () => latest.current.onLaunch(),
        known: () => latest.current.known,
      });
      setReady(true);
    };
    // A hidden element has no size.
    const size = new ResizeObserver(([now]) => {
      if (!now?.contentRect.width) return;
      size.disconnect();
      // If it cannot be loaded, the plain field stays.
      void import("./codemirror").then(open, () => undefined);
    });
    if (whole.current !== null) size.observe(whole.current);
    return () => {
      left = true;
      size.disconnect();
      handle.current?.close();
      handle.current = null;
    };
  }, [latest]);
  useEffect(() => {
    if (ready) handle.current?.setText(text);
  }, [text, ready]);
  useEffect(() => {
    if (ready) handle.current?.setMarks(marks);
  }, [marks, ready]);
  useEffect(() => {
    if (ready && shown !== null) handle.current?.show(shown.from, shown.to);
  }, [shown, ready]);
  return (
    <div ref={whole} className={styles.editor}>
      <div ref={place} className={ready ? styles.place : styles.unready} />
      {!ready && (
        <textarea
          className={styles.plain}
          aria-label={LABEL}
          value={text}
          spellCheck={false}
          onChange={(event) => onText(event.target.value)}
        />
      )}
    </div>
  );
}
