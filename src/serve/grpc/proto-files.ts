/**
 * The texts of `.proto` files: a service's own file and all that it imports.
 *
 * Texts travel to the proxies, which may run on machines that have no such files. (A set of descriptors would be one value, but `@grpc/proto-loader` loses fields of maps on that way.)
 * Decides where imports are found: in the folders that the options name, and never outside of them. Called by `grpc-options.ts`.
 */
import { existsSync, readFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";

/** A service with the texts of its file and of all that this imports, by their names there. */
export interface LoadedService {
  readonly service: string;
  readonly files: Readonly<Record<string, string>>;
}

/** The service's own file among the texts. */
export const MAIN_FILE = "shoal-main.proto";
const IMPORT = /^\s*import\s+(?:public\s+|weak\s+)?"([^"]+)"\s*;/gm;

/** @throws Error for a file that is not there */
export function readWithImports(
  path: string,
  { name, folders, files }: { name: string; folders: readonly string[]; files: Record<string, string> },
): void {
  const content = readFileSync(path, "utf8");
  files[name] = content;
  for (const [, imported] of content.matchAll(IMPORT)) {
    if (imported === undefined || Object.hasOwn(files, imported)) continue;
    // Names stay in the folder into which a proxy writes them.
    if (isAbsolute(imported) || imported.split("/").includes(".."))
      throw new RangeError(`Cannot read ${path}: an import names a file below one of includeDirs: received ${JSON.stringify(imported)}`);
    const found = folders.map((folder) => join(folder, imported)).find((file) => existsSync(file));
    if (found !== undefined) readWithImports(found, { name: imported, folders, files });
    else if (!imported.startsWith("google/protobuf/"))
      throw new RangeError(`Cannot read ${path}: there is no ${imported} in ${folders.join(", ")}: name its folder in includeDirs`);
  }
}
