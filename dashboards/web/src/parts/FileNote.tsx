/** What happens to a file that is held over the page, dropped or chosen. */
import { Button } from "./Button";
import styles from "./FileNote.module.css";
import type { FileOpener } from "./useFileOpener";

export function FileNote({ opener: { over, opened, refused, close } }: { opener: FileOpener }) {
  return (
    <>
      <p role="status" className="unseen">
        {opened && `${opened} is opened.`}
      </p>
      {refused && (
        <div role="alert" className={styles.refused}>
          <p>{refused}</p>
          <Button onClick={close}>Close</Button>
        </div>
      )}
      {over && (
        <div className={styles.over} aria-hidden="true">
          <p>Drop the file to open it in Launch</p>
        </div>
      )}
    </>
  );
}
