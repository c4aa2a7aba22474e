/**
 * Digests of the files of code: one for each file, by which a replica finds changes since the deploy, and one of all files, a part of a deployment's version.
 *
 * The digest of all Python files uses paths relative to the first file, so a folder may move. `module-files.ts` makes TypeScript's. `module-files.ts` and
 * `python-modules.ts` find the files.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, relative } from "node:path";

/** A file and the digest of its bytes. */
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
