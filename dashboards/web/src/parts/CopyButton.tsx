/** Copies a text to the clipboard, and confirms it for a moment. */
import { useState } from "react";
import { Button } from "./Button";

const CONFIRMED_MS = 2000;

interface Props {
  text: () => string;
  title?: string;
  children: string;
}

export function CopyButton({ text, children, ...more }: Props) {
  const [copied, setCopied] = useState(false);
  return (
    <Button
      {...more}
      onClick={() => {
        void navigator.clipboard?.writeText(text()).then(() => setCopied(true));
        window.setTimeout(() => setCopied(false), CONFIRMED_MS);
      }}
    >
      {copied ? "Copied" : children}
    </Button>
  );
}
