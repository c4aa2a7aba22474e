/**
 * Makes a package of a folder in this machine's cache, and a folder of a package.
 *
 * Runs in a separate process (`entry/environment.ts`). Keeps the hash of each file with its size, times and inode number, so that an
 * unchanged folder costs one `stat` for each file; only changed files are read. If a file changes while it is packed, its hash shows that,
 * and the folder is packed again with the content just read. Files that disappear meanwhile are left out.
 */
import { type ListedEntry, type ListingOptions, listDirectory } from "../os/files/folders/directory-listing.ts";
import { sha256Hex } from "../os/digest.ts";
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
  unlessGone,
  unpack,
  writePackage,
  writePackageAsRead,
  writeTextFile,
} from "../os/files/archives/package-files.ts";
import { isDirectory, joinPath } from "../os/files/paths.ts";
import { encodeManifest, linkTarget, type PackageEntry, type PackagedFile, packageHash, parseManifest } from "./directory-package.ts";
import { type InstalledPackage, installedPackages } from "./installed-packages.ts";
import { PACKAGE_FILES_MAX, PACKAGE_SIZE_BYTES_MAX } from "./limits.ts";

export interface PackRequest {
  readonly directory: string;
  readonly excludes: readonly string[];
  /** Packs these files alone. */
  readonly only?: readonly string[] | undefined;
}

export interface PackedDirectory {
  readonly hash: string;
  readonly files: number;
  readonly contentsBytes: number;
  readonly manifestBytes: number;
  /** Files whose content was read, since their hash was not known. */
  readonly hashedFiles: number;
  /** Versions of the packages that its package.json files name. */
  readonly installed: readonly InstalledPackage[];
}

interface PackOptions {
  readonly cacheFolder: string;
  readonly nowMs: () => number;
  /** Smaller ones are for tests. */
  readonly limits?: Partial<Pick<ListingOptions, "sizeBytesMax" | "filesMax">>;
}

/** A file that was changed this shortly before it was read may be changed again without its times telling. */
const TIMES_COARSE_MS = 100;

type KnownHashes = Record<string, readonly [stamp: string, sha256: string]>;

/**
 * @throws RangeError when the folder is too large, naming the large entries
 * @throws Error for a link that leads out of the folder
 */
export function packDirectory(request: PackRequest, options: PackOptions): PackedDirectory {
  if (!isDirectory(request.directory)) throw new Error(`there is no folder ${request.directory} any more`);
  makeFolder(options.cacheFolder);
  const indexFile = joinPath(options.cacheFolder, `index-${sha256Hex(request.directory).slice(0, 32)}`);
  const { entries, hashedFiles } = describeDirectory(request, options, indexFile);
  const described = encodeManifest(entries);
  const to = joinPath(options.cacheFolder, packageHash(described));
  const changed = writePackage(to, described, { root: request.directory, files: filesOf(entries) });
  if (changed === undefined) return packed(request, { entries, hashedFiles });
  // The index may be wrong about unchanged files.
  writeTextFile(indexFile, "{}");
  return packed(request, packAsRead(request, options));
}

interface Described {
  readonly entries: readonly PackageEntry[];
  readonly hashedFiles: number;
}

function packed(request: PackRequest, { entries, hashedFiles }: Described): PackedDirectory {
  const manifest = encodeManifest(entries);
  const files = filesOf(entries);
  const contentsBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0);
  const manifests = files.filter(({ path }) => path.endsWith("/package.json")).map(({ path }) => path.slice(0, -"/package.json".length));
  const installed = request.only === undefined ? installedPackages(request.directory, manifests) : [];
  return { hash: packageHash(manifest), files: files.length, contentsBytes, manifestBytes: manifest.length, hashedFiles, installed };
}

/** In the order of the manifest, in which they are unpacked. */
function filesOf(entries: readonly PackageEntry[]): PackagedFile[] {
  return entries.filter((entry): entry is PackagedFile => entry.kind === "file").sort(byPath);
}

function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
  return a.path < b.path ? -1 : 1;
}

/** Programs write to the folder: no two looks at it see the same. */
function packAsRead(request: PackRequest, options: PackOptions): Described {
  const { directory } = request;
  const listed = listBelonging(request, options);
  const others = listed.flatMap((entry) => (entry.kind === "file" ? [] : (describeOther(directory, entry) ?? [])));
  const executable = new Map(listed.map(({ path, isExecutable }) => [path, isExecutable]));
  const paths = listed.filter(({ kind }) => kind === "file").sort(byPath);
  let entries: PackageEntry[] = [];
  const read = writePackageAsRead(options.cacheFolder, {
    root: directory,
    paths: paths.map(({ path }) => path),
    describe: (files) => {
      const described = files.map((file): PackageEntry => ({ kind: "file", ...file, isExecutable: executable.get(file.path) === true }));
      entries = [...others, ...described];
      const manifest = encodeManifest(entries);
      return { name: packageHash(manifest), manifest };
    },
  });
  return { entries, hashedFiles: read.length };
}

function listBelonging({ directory, excludes, only }: PackRequest, options: PackOptions): ListedEntry[] {
  const limits = { sizeBytesMax: PACKAGE_SIZE_BYTES_MAX, filesMax: PACKAGE_FILES_MAX, ...options.limits };
  return listDirectory({ from: directory, excludes, ...limits }).filter(({ path }) => only === undefined || only.includes(path));
}

/** Describes a folder or a link; undefined for a link that has disappeared. */
function describeOther(directory: string, { path, kind }: ListedEntry): PackageEntry | undefined {
  return kind === "folder" ? { kind, path } : unlessGone(() => linkEntry(directory, path));
}

function describeDirectory(request: PackRequest, options: PackOptions, indexFile: string): Described {
  const { directory } = request;
  const startedMs = options.nowMs();
  const listed = listBelonging(request, options);
  const known = readIndex(indexFile);
  const next: KnownHashes = {};
  const buffer = pieceBuffer();
  let hashedFiles = 0;
  const entries = listed.flatMap((entry): PackageEntry | readonly PackageEntry[] => {
    const { path, kind } = entry;
    if (kind !== "file") return describeOther(directory, entry) ?? [];
    const before = known[path];
    let content = before?.[0] === entry.stamp ? { sha256: before[1], sizeBytes: entry.sizeBytes } : undefined;
    if (content === undefined) {
      content = unlessGone(() => hashFile(joinPath(directory, path), buffer));
      if (content === undefined) return [];
      hashedFiles += 1;
    }
    if (entry.changedMs < startedMs - TIMES_COARSE_MS) next[path] = [entry.stamp, content.sha256];
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

/**
 * Makes the folder `to` from a package of the cache.
 *
 * @throws BadPackageError when the manifest is not to be trusted
 * @throws DamagedContentsError when the contents do not match the manifest
 */
export function unpackDirectory(packageFolder: string, to: string): { files: number } {
  const { entries, contentsBytes } = parseManifest(readBytesOf(joinPath(packageFolder, MANIFEST_FILE)));
  const contents = joinPath(packageFolder, CONTENTS_FILE);
  if ((fileSizeBytes(contents) ?? -1) < contentsBytes) throw new DamagedContentsError(`the package ${packageFolder} is not whole`);
  unpack(contents, entries, to);
  return { files: entries.filter(({ kind }) => kind === "file").length };
}
