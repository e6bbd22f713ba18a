import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  // The recorded sessions are outside of this folder.
  server: { fs: { allow: ["../../.."] } },
  build: { target: "es2022", emptyOutDir: true },
});
