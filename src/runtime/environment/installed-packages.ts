/**
 * Lists the installed versions of a project's packages, for comparison with another node's.
 *
 * Looks at the packages that the package.json files of the folder name, where Node would look for them. Packages that are not installed, or not named, are left
 * out: nothing is compared then. Called where a folder is packed, on the driver's node.
 */
import { foldersUpFrom, readManifest } from "../closure/modules/package-version.ts";
import { joinPath } from "../os/files/paths.ts";

/** For which folder of the project (empty for itself), name, version. */
export type InstalledPackage = readonly [folder: string, name: string, version: string];

const KINDS = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"] as const;
const INSTALLED_MAX = 5000;

/** @param folders - folders of the project that have a package.json, relative to `directory` */
export function installedPackages(directory: string, folders: readonly string[]): InstalledPackage[] {
  const found: InstalledPackage[] = [];
  for (const folder of new Set(["", ...folders])) {
    // A folder without a package.json belongs to the project around it.
    for (const name of namesIn(nearestManifest(joinPath(directory, folder)))) {
      const version = versionFrom(joinPath(directory, folder), name);
      if (version !== undefined && found.length < INSTALLED_MAX) found.push([folder, name, version]);
    }
  }
  return found;
}

function nearestManifest(folder: string): Record<string, unknown> | undefined {
  return foldersUpFrom(folder)
    .map(readManifest)
    .find((manifest) => manifest !== undefined);
}

function namesIn(manifest: Record<string, unknown> | undefined): Set<string> {
  const names = new Set<string>();
  for (const kind of KINDS) {
    const given = manifest?.[kind];
    if (typeof given === "object" && given !== null) for (const name of Object.keys(given)) names.add(name);
  }
  return names;
}

function versionFrom(folder: string, name: string): string | undefined {
  return foldersUpFrom(folder)
    .map((at) => readManifest(joinPath(at, "node_modules", name))?.["version"])
    .find((version) => typeof version === "string");
}
