/**
 * Versions of packages: what a folder's package is called, and whether two versions may stand for each other.
 *
 * Decides that only what differs in its last number may: a patch is made to be exchanged, everything else may lack what the driver's code was written against.
 * Called by the hook on imports of a driver's code on other nodes.
 */
import fs from "node:fs";
import path from "node:path";

interface PackageFacts {
  readonly folder: string;
  readonly version: string | undefined;
}

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

/** `lodash` of `lodash/fp`, `@scope/name` of `@scope/name/part`; undefined for what names no package. */
export function packageNameOf(specifier: string): string | undefined {
  if (/^([a-z][a-z0-9+.-]*:|[./#])/i.test(specifier) || specifier === "") return undefined;
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

/** The package that a file belongs to, by the nearest package.json of that name. */
export function packageOf(file: string, name: string): PackageFacts | undefined {
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    const facts = packageAt(folder);
    if (facts?.name === name) return { folder, version: facts.version };
    if (folder === path.dirname(folder)) return undefined;
  }
}

const manifests = new Map<string, { readonly name: string | undefined; readonly version: string | undefined } | null>();

function packageAt(folder: string): { readonly name: string | undefined; readonly version: string | undefined } | null {
  let facts = manifests.get(folder);
  if (facts === undefined) {
    try {
      facts = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8")) as { name: string; version: string };
    } catch {
      facts = null;
    }
    manifests.set(folder, facts);
  }
  return facts;
}
