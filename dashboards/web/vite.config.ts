/** The build of the page: relative addresses, so that it works below any prefix of a proxy; nothing inline, as the page's policy requires. */
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The service behind `npm run dev`.
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
