/// <reference types="vite/client" />

interface ImportMetaEnv {
  /** The scripts of each page; only in early.ts, as built. */
  readonly PAGE_FILES?: Record<string, readonly string[]>;
}

// Of Node, for the build: the types of all of it are a large package.
declare module "node:zlib" {
  export function brotliCompressSync(content: string | Uint8Array): Uint8Array;
  export function gzipSync(content: string | Uint8Array, options: { level: number }): Uint8Array;
}
