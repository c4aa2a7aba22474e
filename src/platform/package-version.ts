/** The version of this package, as its manifest says. Two folders above the sources and the bundled files alike. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { PACKAGE_URL } from "./own-files.ts";

const MANIFEST = new URL("package.json", PACKAGE_URL);

export function packageVersion(): string {
  return (JSON.parse(readFileSync(MANIFEST, "utf8")) as { version: string }).version;
}

/** The folder of this package, from which packages that were installed beside it are found. */
export function packageFolder(): string {
  return fileURLToPath(PACKAGE_URL);
}
