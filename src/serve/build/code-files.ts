/**
 * The code of a deployment as it is kept: its bytes, and the files that it is made of as they were at the deploy.
 *
 * Replicas load modules as these are when they start, so one that starts later may run other code than was deployed. The digests tell which files have changed; where a file is gone, or
 * this machine never had it, loading the code says so itself. Packed where an application is built, read by replicas.
 */
import { realpathSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { localCodePath } from "../../core/internal.ts";
import { digestOfBytes, type FileDigest } from "./file-digest.ts";
import { statIfThere } from "./file-stat.ts";

const LENGTH_BYTES = 4;
/** The clock of a file system may be so far behind that of the process: a tick of the kernel. */
const FILE_CLOCK_MS = 10;
/** Files that a warning names. */
const NAMED_FILES_MAX = 3;

export function packCode(code: Uint8Array, files: readonly FileDigest[]): Uint8Array {
  const head = Buffer.from(JSON.stringify(files));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(head.length);
  return Buffer.concat([length, head, code]);
}

/** The parts of what `packCode` gave. */
export function unpackCode(packed: Uint8Array): { readonly code: Uint8Array; readonly files: readonly FileDigest[] } {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  const end = LENGTH_BYTES + bytes.readUInt32LE(0);
  return { code: bytes.subarray(end), files: JSON.parse(bytes.toString("utf8", LENGTH_BYTES, end)) as FileDigest[] };
}

/** Files of a folder that replicas run in a copy of, as their working directory: those below it count from there, so that each replica looks at its copy. */
export function filesOfCopy(files: readonly FileDigest[], workingDir: string): FileDigest[] {
  if (statIfThere(workingDir) === undefined) return [...files];
  const folder = realpathSync(workingDir);
  return files.map(([file, digest]) => {
    const real = realpathSync(file);
    return [real.startsWith(join(folder, "/")) ? relative(folder, real) : file, digest];
  });
}

/**
 * Returns the paths of files that had changed since the deploy when this process loaded its code. Later changes do not count: the process runs the deployed
 * code, and the change may be about to be deployed.
 *
 * @param loadedMs - time at which the process began to load its code, in milliseconds since 1970
 */
export async function changedFiles(files: readonly FileDigest[], loadedMs: number): Promise<string[]> {
  const changed: string[] = [];
  // Files are read one after the other: requests go on meanwhile.
  for (const [path, digest] of files) {
    const file = resolve(localCodePath(path));
    const bytes = await readFile(file).catch(() => undefined);
    if (bytes === undefined || digestOfBytes(bytes) === digest) continue;
    // The time of the last change of the bytes or of the name, which no program sets: tools that copy files keep the other one.
    const changedMs = statIfThere(file)?.ctimeMs;
    if (changedMs !== undefined && changedMs < loadedMs - FILE_CLOCK_MS) changed.push(file);
  }
  return changed;
}

/** Undefined where nothing has changed. */
export function changeWarning(changed: readonly string[], replicaId: string): string | undefined {
  if (changed.length === 0) return undefined;
  const more = changed.length - NAMED_FILES_MAX;
  const named = `${changed.slice(0, NAMED_FILES_MAX).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  return (
    `shoal: replica ${replicaId} runs other code than was deployed: ${named} ${changed.length === 1 ? "has" : "have"} changed since. ` +
    "Deploy again, so that all replicas run the same code; where the deployment has a `version`, give it another one."
  );
}
