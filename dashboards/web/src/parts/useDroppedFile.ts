/** Takes a file that is dropped anywhere on the page, except where a part of the page takes files itself (`data-drop`). */
import { useEffect, useState } from "react";
import { useLatest } from "../hooks";

/** Returns whether a file is held over the page. */
export function useDroppedFile(onFile: (file: File) => void): boolean {
  const [over, setOver] = useState(false);
  const latest = useLatest(onFile);
  useEffect(() => {
    const drag = (event: DragEvent): void => {
      const mine = isForPage(event);
      // Without this the browser would leave the page and show the file.
      if (mine) event.preventDefault();
      setOver(mine && !hasDialog());
    };
    // It comes from each element that the file leaves; without a next one the file has left the window.
    const leave = (event: DragEvent): void => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent): void => {
      setOver(false);
      if (!isForPage(event)) return;
      event.preventDefault();
      // The editor would insert the text of the file.
      event.stopPropagation();
      const file = event.dataTransfer?.files[0];
      if (file !== undefined && !hasDialog()) latest.current(file);
    };
    window.addEventListener("dragover", drag, true);
    window.addEventListener("dragleave", leave, true);
    window.addEventListener("drop", drop, true);
    return () => {
      window.removeEventListener("dragover", drag, true);
      window.removeEventListener("dragleave", leave, true);
      window.removeEventListener("drop", drop, true);
    };
  }, [latest]);
  return over;
}

function isForPage({ dataTransfer, target }: DragEvent): boolean {
  const other = target instanceof Element && target.closest("[data-drop]") !== null;
  return dataTransfer?.types.includes("Files") === true && !other;
}

function hasDialog(): boolean {
  return document.querySelector("dialog[open]") !== null;
}
