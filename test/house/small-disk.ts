/** A disk of a few megabytes, for tests of full disks. */
import { execFileSync } from "node:child_process";

/** @returns whether this user may mount one */
export function mountMemory(folder: string, size: string): boolean {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", folder], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
