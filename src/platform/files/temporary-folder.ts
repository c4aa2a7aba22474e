/** Folders for as long as whoever made them lives: for test clusters, which remove theirs at their end. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Only this user may look into it. */
export function newTemporaryFolder(prefix: string): string {
  return mkdtempSync(join(tmpdir(), prefix));
}

export function removeFolder(path: string): void {
  rmSync(path, { recursive: true, force: true });
}
