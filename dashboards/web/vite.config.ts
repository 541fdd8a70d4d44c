/** The build of the page: relative addresses, so that it works below any prefix of a proxy; nothing inline
 * but one script, whose hash the page's policy has. */
import { brotliCompressSync, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { build } from "esbuild";
import type { Plugin, Rollup } from "vite";
import { defineConfig } from "vitest/config";

// The service behind `npm run dev`.
const SERVICE = "http://127.0.0.1:8080";
/** An asset of fewer bytes is not compressed. */
const LEAST_BYTES = 1000;

/** The script of `src/early.ts`, in the page itself, in front of what it loads: a request for it would delay all others. */
function early(): Plugin {
  return {
    name: "early",
    transformIndexHtml: {
      order: "post",
      handler: async (html, { bundle }) => {
        if (bundle === undefined)
          return html.replace("<title>", '<script type="module" src="./src/early.ts"></script>$&');
        const define = { "import.meta.env.PAGE_FILES": JSON.stringify(pageFiles(bundle)) };
        const options = { bundle: true, minify: true, format: "iife", target: "es2022", write: false, define } as const;
        const { outputFiles } = await build({ entryPoints: ["src/early.ts"], ...options });
        const script = `<script>${outputFiles[0]?.text.trim()}</script>`;
        return html.replace("<title>", (title) => `${script}\n    ${title}`);
      },
    },
  };
}

/** Compressed copies of the assets for the service to send: each time it would compress them less. */
function compressed(): Plugin {
  return {
    name: "compressed",
    generateBundle: {
      order: "post",
      handler(_, bundle) {
        for (const one of Object.values(bundle)) {
          const content = one.type === "chunk" ? one.code : one.source;
          if (content.length < LEAST_BYTES) continue;
          this.emitFile({ type: "asset", fileName: `${one.fileName}.br`, source: brotliCompressSync(content) });
          this.emitFile({ type: "asset", fileName: `${one.fileName}.gz`, source: gzipSync(content, { level: 9 }) });
        }
      },
    },
  };
}

/** The scripts of each page, by the name of its folder, without those of the entry; the longest first, since a browser has six connections
 * and the others wait.
 */
function pageFiles(bundle: Rollup.OutputBundle): Record<string, string[]> {
  const chunks = Object.values(bundle).filter((one) => one.type === "chunk");
  const entry = chunks.find((one) => one.isEntry);
  const found: Record<string, string[]> = {};
  for (const chunk of chunks) {
    for (const module of chunk.moduleIds) {
      const folder = /\/pages\/(\w+)\/index\.tsx$/.exec(module)?.[1];
      if (folder === undefined || chunk === entry) continue;
      const files = [chunk.fileName, ...chunk.imports].filter((file) => file !== entry?.fileName);
      found[folder] = files.sort((a, b) => lengthOf(bundle, b) - lengthOf(bundle, a));
    }
  }
  return found;
}

function lengthOf(bundle: Rollup.OutputBundle, file: string): number {
  const one = bundle[file];
  return one?.type === "chunk" ? one.code.length : 0;
}

export default defineConfig({
  base: "./",
  plugins: [react(), early(), compressed()],
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
    // A slow network pays for each file: one stylesheet, and no script of a few hundred bytes.
    cssCodeSplit: false,
    rollupOptions: { output: { experimentalMinChunkSize: 12_000 } },
  },
  // theme.test.ts reads what theme.css says.
  test: { css: { include: /theme/ } },
  server: { proxy: { "/api": SERVICE, "/healthz": SERVICE } },
});
