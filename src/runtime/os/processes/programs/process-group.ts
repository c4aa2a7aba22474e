/**
 * Ends a worker's children, such as the loaders of a training rank, or a program that a task runs.
 *
 * Each worker leads a process group, to which its children belong unless they make their own. After the worker's end, for any cause, the
 * rest of the group is ended, so that no unreachable process continues. A program that should outlive its worker is started in a new
 * session (`detached: true`, `setsid`).
 */

/** Ends the rest of a group whose leader has just ended. */
export function endProcessGroup(leader: number): void {
  // 0 and 1 would mean our own group and all processes.
  if (!(leader > 1)) return;
  try {
    process.kill(-leader, "SIGKILL");
  } catch {
    // The group is empty.
  }
}
