import { createHash } from "node:crypto";
import { defineConfig, type Plugin } from "vite";

/** A script inside an HTML file must not end its own element, and its hash goes into the page's policy. */
function inlinable(): Plugin {
  return {
    name: "inlinable",
    enforce: "post",
    generateBundle(_, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type !== "chunk") continue;
        const code = file.code.trim();
        if (/<\/script|<!--/i.test(code)) this.error("the script has `</script` or `<!--` in it");
        file.code = code;
        const sha256 = createHash("sha256").update(code, "utf8").digest("base64");
        this.emitFile({ type: "asset", fileName: "app.sha256", source: sha256 });
      }
    },
  };
}

export default defineConfig({
  plugins: [inlinable()],
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
