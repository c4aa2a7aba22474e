/** The version of this package, as its manifest says. Two folders above the sources and the bundled files alike. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const MANIFEST = new URL("../../package.json", import.meta.url);

export function packageVersion(): string {
  return (JSON.parse(readFileSync(MANIFEST, "utf8")) as { version: string }).version;
}

/** The folder of this package, from which packages that were installed beside it are found. */
export function packageFolder(): string {
  return fileURLToPath(new URL("../../", import.meta.url));
}
