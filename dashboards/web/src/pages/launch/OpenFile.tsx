/** Opens a file as the draft: one that is dropped anywhere on the page, or chosen by the button. */
import { useRef } from "react";
import { Button } from "../../parts/Button";
import { ENDINGS } from "./experimentFile";

export function OpenFile({ onFile }: { onFile: (file: File) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        aria-label="File of an experiment"
        accept={ENDINGS.join(",")}
        onChange={(event) => {
          const file = event.target.files?.[0];
          // The same file can be chosen again.
          event.target.value = "";
          if (file !== undefined) onFile(file);
        }}
      />
      <Button title="A YAML or JSON file; it can also be dropped on the page" onClick={() => input.current?.click()}>
        Open a file
      </Button>
    </>
  );
}
