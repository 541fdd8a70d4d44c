/** How the page is built: addresses relative to it, so that it works wherever a proxy puts it; nothing inline, for the page's policy. */
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The service beside which `npm run dev` shows the page while it is worked on.
const SERVICE = "http://127.0.0.1:8080";

export default defineConfig({
  base: "./",
  plugins: [react()],
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
  },
  // theme.test.ts reads what theme.css says.
  test: { css: { include: /theme/ } },
  server: { proxy: { "/api": SERVICE, "/healthz": SERVICE } },
});
