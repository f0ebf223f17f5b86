import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { deflateSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

/** Packs the program for the loader, and names both by their hashes for the page's policy. */
function packed(): Plugin {
  const source = (text: string): string => `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;
  return {
    name: "packed",
    enforce: "post",
    generateBundle(_, bundle) {
      const loader = readFileSync("loader.js", "utf8").trim();
      // A script inside an HTML file must not end its own element.
      if (/<\/script|<!--/i.test(loader)) this.error("the loader has `</script` or `<!--` in it");
      for (const file of Object.values(bundle)) {
        if (file.type !== "chunk") continue;
        file.code = file.code.trim();
        const program = deflateSync(file.code, { level: 9 }).toString("base64");
        this.emitFile({ type: "asset", fileName: "app.packed", source: program });
        this.emitFile({ type: "asset", fileName: "app.loader", source: loader });
        this.emitFile({ type: "asset", fileName: "app.sha256", source: `${source(loader)} ${source(file.code)}` });
      }
    },
  };
}

export default defineConfig({
  plugins: [packed()],
  build: {
    target: "es2022",
    outDir: "dist",
    // dist/.gitignore stays: cargo looks at the folder's time.
    emptyOutDir: false,
    copyPublicDir: false,
    modulePreload: false,
    reportCompressedSize: false,
    cssCodeSplit: false,
    rollupOptions: {
      input: "src/main.ts",
      output: {
        format: "iife",
        entryFileNames: "app.js",
        assetFileNames: "app.[ext]",
      },
    },
  },
  test: { include: ["test/**/*.test.ts"] },
} as Parameters<typeof defineConfig>[0]);
