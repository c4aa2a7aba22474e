/**
 * Folders for as long as the program that makes them lives: for test clusters and ranks of training, which remove theirs at their end.
 *
 * If a program ends otherwise (by an uncaught error, or `process.exit`), they are removed as it ends. Folders of a program that was killed
 * are removed by the next session on this machine, which finds their maker dead (`session-sweep.ts`).
 */
import { rmSync } from "node:fs";
import { claimDirectory } from "./session-sweep.ts";
import { newTemporaryFolder } from "./temporary-folder.ts";

const folders = new Set<string>();

function removeAll(): void {
  for (const folder of folders) removeProgramFolder(folder);
}

/** Only this user may look into it. @param prefix one that the sweep knows */
export function newProgramFolder(prefix: "shoal-test-" | "shoal-rank-"): string {
  const folder = newTemporaryFolder(prefix);
  if (folders.size === 0) process.on("exit", removeAll);
  folders.add(folder);
  claimDirectory(folder);
  return folder;
}

export function removeProgramFolder(path: string): void {
  rmSync(path, { recursive: true, force: true });
  folders.delete(path);
  if (folders.size === 0) process.off("exit", removeAll);
}
