/**
 * The texts of `.proto` files: a service's own file and all that it imports.
 *
 * Texts travel to the proxies, which may run on machines that have no such files. A set of descriptors would be one value, but
 * `@grpc/proto-loader` loses fields of maps on that way. Decides where imports are found: in the folders that the options name, and never
 * outside of them. Called by `grpc-options.ts`.
 */
import { messageOf } from "../../core/internal.ts";
import { existsSync, readFileSync } from "node:fs";
import { basename, isAbsolute, join, relative } from "node:path";

/** A service with the texts of its file and of all that this imports. */
export interface LoadedService {
  readonly service: string;
  /** Name of the service's own file among the texts. */
  readonly main: string;
  /** By the names that imports have for them. */
  readonly files: Readonly<Record<string, string>>;
}

const IMPORT = /^\s*import\s+(?:public\s+|weak\s+)?"([^"]+)"\s*;/gm;

const METHOD = /\brpc\s+(\w+)\s*\(/g;

/**
 * The service with all texts.
 *
 * @param folders where imports are found
 * @throws RangeError for a file that is not there
 */
export function loadService(service: string, path: string, folders: readonly string[]): LoadedService {
  const files: Record<string, string> = {};
  const main = importNameOf(path, folders);
  readWithImports(path, { name: main, folders, files });
  return { service, main, files };
}

/** Names that a class may have for the methods of services: as the file has them, and with a small first letter. */
export function methodNames(services: readonly LoadedService[]): string[] {
  return services
    .flatMap(({ main, files }) => [...(files[main] ?? "").matchAll(METHOD)].map(([, name]) => name as string))
    .flatMap((name) => [name, `${name.charAt(0).toLowerCase()}${name.slice(1)}`]);
}

/** Name by which another file in the folders would import it. */
function importNameOf(path: string, folders: readonly string[]): string {
  const names = folders.map((folder) => relative(folder, path));
  return names.find((name) => !name.startsWith("..") && !isAbsolute(name)) ?? basename(path);
}

function readWithImports(
  path: string,
  { name, folders, files }: { name: string; folders: readonly string[]; files: Record<string, string> },
): void {
  const content = textOf(path);
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

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new RangeError(`Cannot read the .proto file of a service: ${messageOf(cause)}`, { cause });
  }
}
