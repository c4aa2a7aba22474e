/**
 * What a worker has started itself: the loaders of a training rank, for instance, or a program that a task runs.
 *
 * Each worker leads a process group, which its children belong to unless they make one of their own. When the worker has ended, whatever ended it, the rest of the group is ended, so that
 * nothing goes on that nobody can reach any more. A program that is to outlive its worker is started in a session of its own (`detached: true`, `setsid`).
 */

/** Ends what is left of the group of a process that has just ended. */
export function endProcessGroup(leader: number): void {
  // 0 and 1 would be our own group and everybody's.
  if (!(leader > 1)) return;
  try {
    process.kill(-leader, "SIGKILL");
  } catch {
    // Nothing is left of it.
  }
}
