/// <reference types="vite/client" />

interface ImportMetaEnv {
  /** The scripts of each page; only in early.ts, as built. */
  readonly PAGE_FILES?: Record<string, readonly string[]>;
}
