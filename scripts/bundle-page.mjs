/**
 * Writes the dashboard's page: its script, style and picture, with hashes of their contents in their names, and the HTML that names these.
 *
 * The folder `assets` holds all that the server gives away besides, so nothing else may be written there. Called by bundle.mjs with the
 * folder to write into.
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { build } from "esbuild";
import { ROOT } from "./setup.mjs";

const ENTRIES = ["dashboard/main.tsx", "dashboard/static/style.css", "dashboard/static/icon.svg"];

export async function bundlePage(outdir) {
  mkdirSync(outdir, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: ENTRIES,
    outdir: join(outdir, "assets"),
    entryNames: "[name]-[hash]",
    loader: { ".svg": "copy" },
    tsconfig: join(ROOT, "dashboard", "tsconfig.json"),
    bundle: true,
    minify: true,
    platform: "browser",
    format: "esm",
    target: "es2022",
    logLevel: "warning",
    metafile: true,
  });
  let html = readFileSync(join(ROOT, "dashboard", "static", "index.html"), "utf8");
  for (const [file, { entryPoint, inputs }] of Object.entries(metafile.outputs)) {
    const source = basename(entryPoint ?? Object.keys(inputs)[0]);
    html = html.replace(`{${source}}`, `/assets/${basename(file)}`);
  }
  if (/\{[\w.]+\}/.test(html)) throw new Error("dashboard/static/index.html names a file that is not bundled");
  writeFileSync(join(outdir, "index.html"), html);
  copyFileSync(join(ROOT, "node_modules", "preact", "LICENSE"), join(outdir, "LICENSE_preact"));
}
