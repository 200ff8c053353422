import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// Where `npm run dev` finds a daemon's page, or the fake one of `npm run fake`.
const daemon = process.env["GARITA_PAGE"] ?? "http://127.0.0.1:7170";

export default defineConfig({
  plugins: [react(), tailwindcss()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  server: {
    host: "127.0.0.1",
    port: 5173,
    proxy: {
      "/api": {
        target: daemon,
        ws: true,
        changeOrigin: true,
        rewriteWsOrigin: true,
        // The daemon answers its own page only, and knows it by the origin.
        configure: (proxy) => proxy.on("proxyReq", (req) => req.hasHeader("origin") && req.setHeader("origin", daemon)),
      },
    },
  },
  build: {
    outDir: "dist",
    emptyOutDir: true, // public/.gitkeep comes back, which the Go build needs
    // The daemon's content policy knows no data: scripts or styles, and no inlined module.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
  },
  test: {
    environment: "happy-dom",
    setupFiles: ["src/test/setup.ts"],
    include: ["src/**/*.test.{ts,tsx}"],
    restoreMocks: true,
    testTimeout: 60_000,
    maxWorkers: 2,
  },
});
