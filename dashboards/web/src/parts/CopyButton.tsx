/** Puts a text where it can be pasted from, and says so for a moment. */
import { useState } from "react";
import { Button } from "./Button";

const SAID_MS = 2000;

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
        window.setTimeout(() => setCopied(false), SAID_MS);
      }}
    >
      {copied ? "Copied" : children}
    </Button>
  );
}
