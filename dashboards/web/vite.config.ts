/** The build of the page: relative addresses, so that it works below any prefix of a proxy; nothing inline, as the page's policy requires. */
import react from "@vitejs/plugin-react";
import { build } from "esbuild";
import type { Plugin, Rollup } from "vite";
import { defineConfig } from "vitest/config";

// The service behind `npm run dev`.
const SERVICE = "http://127.0.0.1:8080";

/** The script of `src/early.ts`, a file of its own that imports nothing, in front of the page's code. */
function early(): Plugin {
  const script = (src: string) => [
    { tag: "script", attrs: { type: "module", src }, injectTo: "head-prepend" as const },
  ];
  return {
    name: "early",
    async generateBundle(_, bundle) {
      const define = { "import.meta.env.PAGE_FILES": JSON.stringify(pageFiles(bundle)) };
      const options = { bundle: true, minify: true, format: "esm", target: "es2022", write: false, define } as const;
      const { outputFiles } = await build({ entryPoints: ["src/early.ts"], ...options });
      this.emitFile({ type: "asset", name: "early.js", source: outputFiles[0]?.text ?? "" });
    },
    transformIndexHtml: {
      order: "post",
      handler: (_, { bundle }) => {
        const made = Object.values(bundle ?? {}).find((one) => one.type === "asset" && one.names.includes("early.js"));
        return script(made === undefined ? "./src/early.ts" : `./${made.fileName}`);
      },
    },
  };
}

/** The scripts of each page, by the name of its folder, without those of the entry. */
function pageFiles(bundle: Rollup.OutputBundle): Record<string, string[]> {
  const chunks = Object.values(bundle).filter((one) => one.type === "chunk");
  const entry = chunks.find((one) => one.isEntry);
  const found: Record<string, string[]> = {};
  for (const chunk of chunks) {
    for (const module of chunk.moduleIds) {
      const folder = /\/pages\/(\w+)\/index\.tsx$/.exec(module)?.[1];
      if (folder === undefined || chunk === entry) continue;
      found[folder] = [chunk.fileName, ...chunk.imports].filter((file) => file !== entry?.fileName);
    }
  }
  return found;
}

export default defineConfig({
  base: "./",
  plugins: [react(), early()],
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
