/**
 * Lists the files, links and subfolders of a folder, without its excluded ones.
 *
 * `.gitignore` and `.shoalignore` files apply to their folder and everything below, and so do patterns of the caller in the same form. If a
 * folder has both files, the `.shoalignore` wins, so that it can bring back files that git leaves out (`!dist/`). Called for copies and for
 * packages of a working directory.
 */
import { type Dirent, lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ignore, { type Ignore } from "ignore";
import { unlessGone } from "../archives/package-files.ts";

export interface ListedEntry {
  /** Relative to the folder, with slashes. */
  readonly path: string;
  readonly kind: "file" | "link" | "folder";
  readonly sizeBytes: number;
  readonly isExecutable: boolean;
  /** Differs when the content may: times and the number of the file. */
  readonly stamp: string;
  /** When it was last changed, in milliseconds since 1970. */
  readonly changedMs: number;
}

export interface ListingOptions {
  readonly from: string;
  /** Patterns in the form of a .gitignore file, in addition to those in the folder. */
  readonly excludes: readonly string[];
  readonly sizeBytesMax: number;
  readonly filesMax: number;
}

/** Never part of a project's own files: installed packages and history, as folders, links, or, in a second work tree, files. */
const ALWAYS_EXCLUDED = ["node_modules", ".git"];
const RULE_FILES = [".gitignore", ".shoalignore"];
const LARGEST_NAMED_MAX = 5;

interface Rules {
  readonly prefix: string;
  readonly rules: Ignore;
}

/** Folders precede their contents. @throws RangeError when the folder is too large, naming its large entries */
export function listDirectory(options: ListingOptions): ListedEntry[] {
  const found: ListedEntry[] = [];
  const root: Rules = { prefix: "", rules: ignore().add(ALWAYS_EXCLUDED).add(options.excludes.slice()) };
  // A folder that is no project (a home directory) is not walked to its end, only to say that it is too large.
  const counts = { files: 0 };
  const isWhole = list({ options, found, counts }, "", [root]);
  if (!isWhole) throw tooMany(options, found);
  const sizeBytes = found.reduce((sum, entry) => sum + entry.sizeBytes, 0);
  if (sizeBytes > options.sizeBytesMax) throw tooLarge(options, found, sizeBytes);
  return found;
}

interface Walk {
  readonly options: ListingOptions;
  readonly found: ListedEntry[];
  readonly counts: { files: number };
}

function list(walk: Walk, folder: string, outer: readonly Rules[]): boolean {
  const { options, found, counts } = walk;
  const rules = outer.slice();
  // A folder that has disappeared yields nothing; if the requested one is missing, there is nothing to list.
  const read = (): Dirent[] => readdirSync(join(options.from, folder), { withFileTypes: true });
  const entries = folder === "" ? read() : (unlessGone(read) ?? []);
  for (const name of RULE_FILES) {
    if (!entries.some((entry) => entry.name === name && entry.isFile())) continue;
    const text = unlessGone(() => readFileSync(join(options.from, folder, name), "utf8"));
    if (text !== undefined) rules.push({ prefix: folder, rules: ignore().add(text) });
  }
  for (const entry of entries) {
    const path = `${folder}${entry.name}`;
    if (isExcluded(path, entry.isDirectory(), rules)) continue;
    if (entry.isDirectory()) {
      found.push({ path, kind: "folder", sizeBytes: 0, isExecutable: false, stamp: "", changedMs: 0 });
      const inside = rules.map((around) => rulesInside(path, around));
      if (!list(walk, `${path}/`, inside)) return false;
    } else if (entry.isSymbolicLink()) {
      found.push({ path, kind: "link", sizeBytes: 0, isExecutable: false, stamp: "", changedMs: 0 });
    } else if (entry.isFile()) {
      const stat = lstatSync(join(options.from, path), { throwIfNoEntry: false });
      // The entry has disappeared since the folder was read.
      if (stat === undefined) continue;
      const { size, mode, mtimeMs, ctimeMs, ino } = stat;
      const changedMs = Math.max(mtimeMs, ctimeMs);
      const stamp = `${size} ${mtimeMs} ${ctimeMs} ${ino}`;
      found.push({ path, kind: "file", sizeBytes: size, isExecutable: (mode & 0o100) !== 0, stamp, changedMs });
    } else {
      // Sockets, pipes and devices are no files of a project.
      continue;
    }
    counts.files += 1;
    if (counts.files > options.filesMax) return false;
  }
  return true;
}

/** The innermost file with a matching rule decides, as in git. */
function isExcluded(path: string, isFolder: boolean, rules: readonly Rules[]): boolean {
  for (let index = rules.length - 1; index >= 0; index -= 1) {
    const { prefix, rules: own } = rules[index] as Rules;
    const verdict = own.test(`${path.slice(prefix.length)}${isFolder ? "/" : ""}`);
    if (verdict.ignored) return true;
    if (verdict.unignored) return false;
  }
  return false;
}

/**
 * Returns the rules for a folder's contents. If one rule leaves out the folder and a later one brought it back, the first rule does not
 * apply inside.
 */
function rulesInside(folder: string, { prefix, rules }: Rules): Rules {
  const inside = folder.slice(prefix.length);
  if (!rules.test(`${inside}/`).ignored) return { prefix, rules };
  const literal = inside.replaceAll(/[\\*?[\]!# ]/g, "\\$&");
  return { prefix, rules: ignore().add(rules).add(`!/${literal}/`) };
}

const REMEDY =
  "Exclude what tasks do not need with excludes, a .gitignore or a .shoalignore file, or name a smaller folder as runtimeEnv.workingDir";

function tooLarge({ from, sizeBytesMax }: ListingOptions, found: readonly ListedEntry[], sizeBytes: number): RangeError {
  const sizes = new Map<string, number>();
  for (const entry of found) {
    if (entry.kind !== "file") continue;
    // Counts by file and by its direct folder: a folder of many small files is as large as one file.
    for (const name of new Set([entry.path, folderOf(entry.path)])) {
      if (name !== "") sizes.set(name, (sizes.get(name) ?? 0) + entry.sizeBytes);
    }
  }
  return new RangeError(
    `the folder ${from} is ${megabytes(sizeBytes)} large, more than the ${megabytes(sizeBytesMax)} that a working directory may have; ` +
      `the largest in it: ${largest(sizes, megabytes)}. ${REMEDY}`,
  );
}

function tooMany({ from, filesMax }: ListingOptions, found: readonly ListedEntry[]): RangeError {
  const counts = new Map<string, number>();
  for (const { path } of found) {
    // Counts by the first folder: a folder with many files usually has subfolders.
    const first = path.split("/", 1)[0] as string;
    if (first !== path) counts.set(first, (counts.get(first) ?? 0) + 1);
  }
  const named = counts.size === 0 ? "" : `; most of those seen lie in: ${largest(counts, (count) => `${count} entries`)}`;
  return new RangeError(
    `the folder ${from} has more than the ${filesMax} files and folders that a working directory may have${named}. ${REMEDY}`,
  );
}

function largest(sizes: ReadonlyMap<string, number>, show: (size: number) => string): string {
  return Array.from(sizes)
    .sort(([, a], [, b]) => b - a)
    .slice(0, LARGEST_NAMED_MAX)
    .map(([name, size]) => `${name} (${show(size)})`)
    .join(", ");
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

function megabytes(sizeBytes: number): string {
  return `${(sizeBytes / 1e6).toFixed(1)} MB`;
}
