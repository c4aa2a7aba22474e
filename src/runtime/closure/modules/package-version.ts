/**
 * Names of packages, and whether one version of a package may stand for another.
 *
 * Only versions that differ in the last number may. A patch is made to be exchanged; any other version may lack features that the driver's
 * code uses. Called by the hook on imports of a driver's code on other nodes.
 */
import fs from "node:fs";
import path from "node:path";
import { isObjectLike, tryRead } from "../values/known-values.ts";

const PARTS = /^(\d+)\.(\d+)\.(\d+)(-[^+]*)?/;

/** `same`; `patch`: they differ in the last number alone; `other`. */
export function compareVersions(there: string, here: string): "same" | "patch" | "other" {
  if (there === here) return "same";
  const [a, b] = [PARTS.exec(there), PARTS.exec(here)];
  if (a === null || b === null) return "other";
  const isSameMinor = a[1] === b[1] && a[2] === b[2] && a[4] === b[4];
  if (!isSameMinor) return "other";
  return a[3] === b[3] ? "same" : "patch";
}

/** `lodash` of `lodash/fp`, `@scope/name` of `@scope/name/part`; undefined if the specifier names no package. */
export function packageNameOf(specifier: string): string | undefined {
  if (/^([a-z][a-z0-9+.-]*:|[./#])/i.test(specifier) || specifier === "") return undefined;
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

/** Returns the package of a file, from the nearest package.json of that name; undefined if that has no version. */
export function packageOf(file: string, name: string): { readonly folder: string; readonly version: string } | undefined {
  for (const folder of foldersUpFrom(path.dirname(file))) {
    const manifest = readManifest(folder);
    if (manifest?.["name"] !== name) continue;
    const version = manifest["version"];
    return typeof version === "string" ? { folder, version } : undefined;
  }
  return undefined;
}

/** A folder, and all that it is in. */
export function* foldersUpFrom(folder: string): Generator<string> {
  for (let at = folder; ; at = path.dirname(at)) {
    yield at;
    if (at === path.dirname(at)) return;
  }
}

/** Returns the package.json of a folder; undefined if there is none that can be read. */
export function readManifest(folder: string): Readonly<Record<string, unknown>> | undefined {
  const manifest: unknown = tryRead(() => JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8")) as unknown);
  return isObjectLike(manifest) ? (manifest as Record<string, unknown>) : undefined;
}
