/** Opens files that are dropped on the page or chosen, and keeps the result of the last one. */
import { useState } from "react";
import { useDroppedFile } from "./useDroppedFile";

export interface FileOpener {
  open: (file: File) => void;
  /** Whether a file is held over the page. */
  over: boolean;
  opened: string;
  /** Why the last file was not opened, in one sentence. */
  refused: string;
  close: () => void;
}

const NOTHING = { opened: "", refused: "" };

/** `read` opens a file, or returns the reason why it cannot. */
export function useFileOpener(read: (file: File) => Promise<string | null>): FileOpener {
  const [result, setResult] = useState(NOTHING);
  const open = (file: File): void => {
    read(file).then(
      (refused) => setResult(refused === null ? { ...NOTHING, opened: file.name } : { ...NOTHING, refused }),
      () => setResult({ ...NOTHING, refused: `${file.name} could not be opened.` }),
    );
  };
  const over = useDroppedFile(open);
  return { open, over, ...result, close: () => setResult(NOTHING) };
}
