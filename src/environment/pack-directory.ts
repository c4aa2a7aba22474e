/**
 * Makes a package of a folder in this machine's cache, and a folder of a package.
 *
 * Runs in a process of its own (`entry/environment.ts`). The hash of each file is kept with the file's size, times and number, so that a folder that has not changed
 * costs one look at each file; what has changed is read. A file that changes while it is packed is seen by its hash, and the folder is packed again.
 */
import { type ListedEntry, type ListingOptions, listDirectory } from "../platform/files/directory-listing.ts";
import { sha256Hex } from "../platform/digest.ts";
import {
  CONTENTS_FILE,
  DamagedContentsError,
  fileSizeBytes,
  hashFile,
  makeFolder,
  MANIFEST_FILE,
  pieceBuffer,
  readBytesOf,
  readLink,
  readTextFile,
  unpack,
  writePackage,
  writeTextFile,
} from "../platform/files/package-files.ts";
import { isDirectory, joinPath } from "../platform/files/paths.ts";
import {
  encodeManifest,
  linkTarget,
  PACKAGE_FILES_MAX,
  PACKAGE_SIZE_BYTES_MAX,
  type PackageEntry,
  type PackagedFile,
  packageHash,
  parseManifest,
} from "./directory-package.ts";
import { type InstalledPackage, installedPackages } from "./installed-packages.ts";

export interface PackRequest {
  readonly directory: string;
  readonly excludes: readonly string[];
  /** Nothing but these files of it. */
  readonly only?: readonly string[] | undefined;
}

export interface PackedDirectory {
  readonly hash: string;
  readonly files: number;
  readonly contentsBytes: number;
  readonly manifestBytes: number;
  /** Whose content was read, and not known from before. */
  readonly hashedFiles: number;
  /** Versions of the packages that its package.json files name. */
  readonly installed: readonly InstalledPackage[];
}

export interface PackOptions {
  readonly cacheFolder: string;
  readonly nowMs: () => number;
  /** Smaller ones are for tests. */
  readonly limits?: Partial<Pick<ListingOptions, "sizeBytesMax" | "filesMax">>;
}

const ATTEMPTS_MAX = 3;
/** A file that was changed this shortly before it was read may be changed again without its times telling. */
const TIMES_COARSE_MS = 100;

type KnownHashes = Record<string, readonly [stamp: string, sha256: string]>;

/**
 * @throws RangeError when the folder is too large, naming what is large in it
 * @throws Error for a link that leads out of the folder, or a folder that keeps changing
 */
export function packDirectory(request: PackRequest, options: PackOptions): PackedDirectory {
  if (!isDirectory(request.directory)) throw new Error(`there is no folder ${request.directory} any more`);
  makeFolder(options.cacheFolder);
  let changed: string | undefined;
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const described = whileThere(() => describeDirectory(request, options, attempt === 0));
    if (typeof described === "string") {
      changed = described;
      continue;
    }
    const { entries, hashedFiles } = described;
    const manifest = encodeManifest(entries);
    const hash = packageHash(manifest);
    const files = entries.filter((entry): entry is PackagedFile => entry.kind === "file");
    // In the order of the manifest, in which they are unpacked.
    files.sort((a, b) => (a.path < b.path ? -1 : 1));
    changed = whileThere(() => writePackage(joinPath(options.cacheFolder, hash), manifest, { root: request.directory, files }));
    if (changed !== undefined) continue;
    const contentsBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0);
    const manifests = files.filter(({ path }) => path.endsWith("/package.json")).map(({ path }) => path.slice(0, -"/package.json".length));
    const installed = request.only === undefined ? installedPackages(request.directory, manifests) : [];
    return { hash, files: files.length, contentsBytes, manifestBytes: manifest.length, hashedFiles, installed };
  }
  throw new Error(
    `the folder ${request.directory} cannot be packed: ${changed} kept changing meanwhile; exclude what programs write with excludes or a .shoalignore file`,
  );
}

/** The path of a file that has gone meanwhile, which counts as one that changed. */
function whileThere<Result>(read: () => Result): Result | string {
  try {
    return read();
  } catch (error) {
    const { code, path } = error as { code?: string; path?: string };
    if (code !== "ENOENT" || path === undefined) throw error;
    return path;
  }
}

function describeDirectory(
  request: PackRequest,
  options: PackOptions,
  believesIndex: boolean,
): { entries: PackageEntry[]; hashedFiles: number } {
  const { directory, excludes, only } = request;
  const startedMs = options.nowMs();
  const limits = { sizeBytesMax: PACKAGE_SIZE_BYTES_MAX, filesMax: PACKAGE_FILES_MAX, ...options.limits };
  const listed = listDirectory({ from: directory, excludes, ...limits }).filter(({ path }) => only === undefined || only.includes(path));
  const indexFile = joinPath(options.cacheFolder, `index-${sha256Hex(directory).slice(0, 32)}`);
  const known = believesIndex ? readIndex(indexFile) : {};
  const next: KnownHashes = {};
  const buffer = pieceBuffer();
  let hashedFiles = 0;
  const entries = listed.map((entry): PackageEntry => {
    const { path, kind } = entry;
    if (kind === "folder") return { kind, path };
    if (kind === "link") return linkEntry(directory, path);
    const before = known[path];
    let content = before?.[0] === entry.stamp ? { sha256: before[1], sizeBytes: entry.sizeBytes } : undefined;
    if (content === undefined) {
      content = hashFile(joinPath(directory, path), buffer);
      hashedFiles += 1;
    }
    if (isSettled(entry, startedMs)) next[path] = [entry.stamp, content.sha256];
    return { kind, path, isExecutable: entry.isExecutable, ...content };
  });
  if (hashedFiles > 0 || Object.keys(known).length !== Object.keys(next).length) writeTextFile(indexFile, JSON.stringify(next));
  return { entries, hashedFiles };
}

function readIndex(file: string): KnownHashes {
  try {
    return JSON.parse(readTextFile(file) ?? "{}") as KnownHashes;
  } catch {
    return {};
  }
}

function isSettled({ changedMs }: ListedEntry, startedMs: number): boolean {
  return changedMs < startedMs - TIMES_COARSE_MS;
}

function linkEntry(directory: string, path: string): PackageEntry {
  const written = readLink(directory, path);
  const target = linkTarget(path, written);
  if (target === undefined) {
    throw new Error(
      `the folder ${directory} cannot be packed: the link ${path} leads out of it, to ${written}, which other nodes do not have; ` +
        "exclude it with excludes or a .shoalignore file, or put what it names into the folder",
    );
  }
  return { kind: "link", path, target };
}

/** Whether the cache has a package, by its own account. */
export function hasPackage(cacheFolder: string, hash: string): boolean {
  return isDirectory(joinPath(cacheFolder, hash));
}

/**
 * Makes the folder `to` from a package of the cache.
 *
 * @throws BadPackageError when the manifest is not to be trusted
 * @throws DamagedContentsError when contents are not what the manifest says
 */
export function unpackDirectory(packageFolder: string, to: string): { files: number } {
  const { entries, contentsBytes } = parseManifest(readBytesOf(joinPath(packageFolder, MANIFEST_FILE)));
  const contents = joinPath(packageFolder, CONTENTS_FILE);
  if ((fileSizeBytes(contents) ?? -1) < contentsBytes) throw new DamagedContentsError(`the package ${packageFolder} is not whole`);
  unpack(contents, entries, to);
  return { files: entries.filter(({ kind }) => kind === "file").length };
}
