/**
 * Digests of the files that code is made of: of each, by which a replica finds what has changed since the deploy, and one of all, which is part of the version of a deployment.
 *
 * In the digest of all of Python's, paths count from the first file, so a folder may move; that of TypeScript is made in `module-files.ts`. The languages find the files
 * (`module-files.ts`, `python-modules.ts`).
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, relative } from "node:path";

/** A file, and a digest of its bytes. */
export type FileDigest = readonly [path: string, digest: string];

export function digestsOf(files: readonly string[]): FileDigest[] {
  return files.map((file) => [file, digestOfBytes(readFileSync(file))]);
}

export function digestOfBytes(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("base64url");
}

/** @param first - a file that the others lie around; undefined where there is none, which gives an empty digest */
export function digestOfFiles(files: readonly FileDigest[], first: string | undefined): string {
  if (first === undefined) return "";
  const hash = createHash("sha256");
  for (const [file, digest] of files.toSorted(([left], [right]) => (left < right ? -1 : 1)))
    hash.update(`${relative(dirname(first), file)}\0${digest}\0`);
  return hash.digest("hex");
}
