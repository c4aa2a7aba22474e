/**
 * The form in which a folder travels: a manifest that names every file with its hash, and the contents of the files, one after the other.
 *
 * A package is named by a SHA-256 of the manifest, which depends on names, modes, link targets and contents alone. So the same files have
 * the same name on every machine. A received manifest is not trusted: a path that leads out of the folder, passes through a link, or occurs
 * twice is refused before anything is written. Pure; `runtime/os/files/archives/package-files.ts` reads and writes.
 */
import { messageOf } from "../base/texts/describe.ts";
import { sha256Hex } from "../os/digest.ts";
import { PACKAGE_FILES_MAX, PACKAGE_SIZE_BYTES_MAX } from "./limits.ts";

export interface PackagedFile {
  readonly kind: "file";
  readonly path: string;
  readonly isExecutable: boolean;
  readonly sizeBytes: number;
  readonly sha256: string;
}

export type PackageEntry =
  | PackagedFile
  | { readonly kind: "folder"; readonly path: string }
  /** The target is relative to the folder of the link, and in the package. */
  | { readonly kind: "link"; readonly path: string; readonly target: string };

export interface PackageManifest {
  /** Sorted by path: a folder precedes its contents. */
  readonly entries: readonly PackageEntry[];
  readonly contentsBytes: number;
}

const FORMAT = 1;
const SHA256 = /^[0-9a-f]{64}$/;
const PATH_LENGTH_MAX = 4096;

type Row = readonly ["d", string] | readonly ["l", string, string] | readonly ["f" | "x", string, number, string];

/** Writes a line for each entry, in order of paths: equal entries give equal bytes. */
export function encodeManifest(entries: readonly PackageEntry[]): Uint8Array {
  const sorted = entries.slice().sort((a, b) => (a.path < b.path ? -1 : 1));
  const rows = sorted.map((entry): Row => {
    if (entry.kind === "folder") return ["d", entry.path];
    if (entry.kind === "link") return ["l", entry.path, entry.target];
    return [entry.isExecutable ? "x" : "f", entry.path, entry.sizeBytes, entry.sha256];
  });
  const lines = rows.map((row) => JSON.stringify(row));
  return Buffer.from(`[${FORMAT},[\n${lines.join(",\n")}\n]]\n`);
}

/** Returns the name of a package, the same on all machines. */
export function packageHash(manifest: Uint8Array): string {
  return sha256Hex(manifest);
}

export function isPackageHash(value: unknown): value is string {
  return typeof value === "string" && SHA256.test(value);
}

export class BadPackageError extends Error {
  override readonly name = "BadPackageError";
}

/** @throws BadPackageError for anything that `encodeManifest` would not have written */
export function parseManifest(bytes: Uint8Array): PackageManifest {
  let rows: unknown;
  try {
    const parsed = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as unknown;
    if (!Array.isArray(parsed) || parsed[0] !== FORMAT || !Array.isArray(parsed[1])) throw new Error(`it is not of format ${FORMAT}`);
    rows = parsed[1];
  } catch (error) {
    throw new BadPackageError(`the manifest of a package cannot be read: ${messageOf(error)}`);
  }
  const entries: PackageEntry[] = [];
  const folders = new Set([""]);
  let contentsBytes = 0;
  for (const row of rows as unknown[]) {
    const entry = readEntry(row);
    const { path } = entry;
    if (path <= (entries.at(-1)?.path ?? "")) throw refused("a path that is there twice, or out of order", path);
    if (!folders.has(path.slice(0, Math.max(0, path.lastIndexOf("/"))))) throw refused("a path in what is no folder of it", path);
    if (entries.length >= PACKAGE_FILES_MAX) throw refused(`more than ${PACKAGE_FILES_MAX} entries`, path);
    if (entry.kind === "folder") folders.add(path);
    if (entry.kind === "file") contentsBytes += entry.sizeBytes;
    if (contentsBytes > PACKAGE_SIZE_BYTES_MAX) throw refused(`more than ${PACKAGE_SIZE_BYTES_MAX} bytes`, path);
    entries.push(entry);
  }
  return { entries, contentsBytes };
}

function readEntry(row: unknown): PackageEntry {
  const [kind, path, third, fourth] = Array.isArray(row) ? (row as unknown[]) : [];
  if (typeof path !== "string" || !isInside(path)) throw refused("a path that leads out of its folder", path);
  switch (kind) {
    case "d":
      return { kind: "folder", path };
    case "l":
      if (typeof third !== "string" || linkTarget(path, third) !== third) throw refused("a link that leads out of it", path);
      return { kind: "link", path, target: third };
    case "f":
    case "x": {
      const isSize = Number.isSafeInteger(third) && (third as number) >= 0;
      if (!isSize || !isPackageHash(fourth)) throw refused("a file without size or hash", path);
      return { kind: "file", path, isExecutable: kind === "x", sizeBytes: third as number, sha256: fourth };
    }
    default:
      throw refused("an entry of an unknown kind", path);
  }
}

function refused(what: string, path: unknown): BadPackageError {
  return new BadPackageError(`the package was refused, as its manifest has ${what}: ${JSON.stringify(path)?.slice(0, 200)}`);
}

/** Relative, in its shortest form, and nowhere upwards. */
function isInside(path: string): boolean {
  if (path === "" || path.length > PATH_LENGTH_MAX || path.includes("\0") || path.includes("\\")) return false;
  return path.split("/").every((part) => part !== "" && part !== "." && part !== "..");
}

/**
 * Returns the target of a link in its shortest form, relative to the link's folder, or undefined if it leads out of the package. All steps
 * upwards come first, and no folder of a package is a link, so the check of the text holds for the files.
 */
export function linkTarget(path: string, target: string): string | undefined {
  if (target === "" || target.startsWith("/") || target.includes("\0") || target.length > PATH_LENGTH_MAX) return undefined;
  const depth = path.split("/").length - 1;
  let up = 0;
  const down: string[] = [];
  for (const part of target.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") down.push(part);
    else if (down.length > 0) down.pop();
    else up += 1;
  }
  if (up > depth) return undefined;
  const steps = [...Array.from({ length: up }, () => ".."), ...down];
  return steps.length === 0 ? "." : steps.join("/");
}

/** Yields the offset of each file's bytes in the contents. */
export function* filesWithOffsets(manifest: PackageManifest): Generator<PackagedFile & { readonly offset: number }> {
  let offset = 0;
  for (const entry of manifest.entries) {
    if (entry.kind !== "file") continue;
    yield { ...entry, offset };
    offset += entry.sizeBytes;
  }
}
