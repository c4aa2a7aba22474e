/**
 * Copies a folder as it is now, without what its owner excludes: a worker's working directory.
 *
 * `.gitignore` files count, each for its own folder and below, and so do patterns in the same form. Links stay links. The size is summed up before anything is
 * written, so that a folder that is too large is refused with the names of what is large in it.
 */
import { copyFile, lstat, mkdir, readdir, readFile, readlink, symlink } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import ignore, { type Ignore } from "ignore";

export interface DirectoryCopyOptions {
  readonly from: string;
  /** Made by the copy. */
  readonly to: string;
  /** In the form of a .gitignore file, besides those found in the folder. */
  readonly excludes: readonly string[];
  readonly sizeBytesMax: number;
}

export interface DirectoryCopyResult {
  readonly files: number;
  readonly sizeBytes: number;
}

/** Never part of a project's own files: installed packages and history. */
const ALWAYS_EXCLUDED = ["node_modules/", ".git/"];
const LARGEST_NAMED_MAX = 5;

interface Found {
  readonly path: string;
  readonly kind: "file" | "link" | "folder";
  readonly sizeBytes: number;
}

interface Rules {
  readonly folder: string;
  readonly rules: Ignore;
}

/** @throws RangeError when the folder is larger than `sizeBytesMax` */
export async function copyDirectory(options: DirectoryCopyOptions): Promise<DirectoryCopyResult> {
  const { from, to, excludes, sizeBytesMax } = options;
  const found: Found[] = [];
  await list(from, [{ folder: from, rules: ignore().add(ALWAYS_EXCLUDED).add(excludes) }], found);
  const sizeBytes = found.reduce((sum, entry) => sum + entry.sizeBytes, 0);
  if (sizeBytes > sizeBytesMax) throw tooLarge(options, found, sizeBytes);
  await mkdir(to, { recursive: true });
  for (const { path, kind } of found) {
    const target = join(to, relative(from, path));
    if (kind === "folder") await mkdir(target, { recursive: true });
    else if (kind === "link") await symlink(await readlink(path), target);
    else await copyFile(path, target);
  }
  return { files: found.filter(({ kind }) => kind !== "folder").length, sizeBytes };
}

/** A folder that appears in a second place. */
export async function linkDirectory(target: string, place: string): Promise<void> {
  await symlink(target, place, "dir");
}

async function list(folder: string, outer: readonly Rules[], found: Found[]): Promise<void> {
  const rules = [...outer];
  const entries = await readdir(folder, { withFileTypes: true });
  if (entries.some((entry) => entry.name === ".gitignore" && entry.isFile())) {
    rules.push({ folder, rules: ignore().add(await readFile(join(folder, ".gitignore"), "utf8")) });
  }
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (isExcluded(path, entry.isDirectory(), rules)) continue;
    if (entry.isDirectory()) {
      found.push({ path, kind: "folder", sizeBytes: 0 });
      await list(path, rules, found);
    } else if (entry.isSymbolicLink()) {
      found.push({ path, kind: "link", sizeBytes: 0 });
    } else if (entry.isFile()) {
      found.push({ path, kind: "file", sizeBytes: (await lstat(path)).size });
    }
    // Sockets, pipes and devices are no files of a project.
  }
}

/** The innermost file that says anything decides, as in git. */
function isExcluded(path: string, isFolder: boolean, rules: readonly Rules[]): boolean {
  for (const { folder, rules: own } of rules.toReversed()) {
    const verdict = own.test(`${relative(folder, path)}${isFolder ? "/" : ""}`);
    if (verdict.ignored) return true;
    if (verdict.unignored) return false;
  }
  return false;
}

function tooLarge({ from, sizeBytesMax }: DirectoryCopyOptions, found: readonly Found[], sizeBytes: number): RangeError {
  const sizes = new Map<string, number>();
  for (const entry of found) {
    if (entry.kind !== "file") continue;
    // By file, and by what it lies in directly: a folder of many small files is as large as one file.
    for (const name of new Set([relative(from, entry.path), relative(from, dirname(entry.path))])) {
      if (name !== "") sizes.set(name, (sizes.get(name) ?? 0) + entry.sizeBytes);
    }
  }
  const largest = Array.from(sizes)
    .sort(([, a], [, b]) => b - a)
    .slice(0, LARGEST_NAMED_MAX);
  const named = largest.map(([name, size]) => `${name} (${megabytes(size)})`).join(", ");
  return new RangeError(
    `the folder ${from} is ${megabytes(sizeBytes)} large, more than the ${megabytes(sizeBytesMax)} that a working directory may have; ` +
      `the largest in it: ${named}. Exclude what tasks do not need with excludes or a .gitignore file`,
  );
}

function megabytes(sizeBytes: number): string {
  return `${(sizeBytes / 1e6).toFixed(1)} MB`;
}
