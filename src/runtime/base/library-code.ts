/**
 * Tracks whether Shoal's own code runs inside a user's task, and reports it to the interruption guard.
 *
 * Functions that users call (`put`, `f.remote()`, the output of `console.log`) enter and leave. While a task can be interrupted, the
 * interruption guard (runtime/worker/tasks/interruption-guard.ts) sets the shield. The shield holds interruptions off until Shoal's code has
 * returned, since a table may be half changed between two statements. Outside such a task, entering costs one comparison.
 */

/** Holds interruptions off while Shoal's own code runs. Neither call needs to return, as a task may be stopped there. */
export interface LibraryShield {
  raise(): void;
  lower(): void;
}

interface LibraryCode {
  /** Set between `enterLibrary` and `leaveLibrary` while the shield is up, so that a signal in that time is a stranger's. */
  isRunning: boolean;
  /** Set while a task can be interrupted. */
  shield: LibraryShield | undefined;
}

export const libraryCode: LibraryCode = { isRunning: false, shield: undefined };

/** @returns the argument for `leaveLibrary`: whether this was the outermost entry */
export function enterLibrary(): boolean {
  const { shield } = libraryCode;
  if (shield === undefined || libraryCode.isRunning) return false;
  shield.raise();
  libraryCode.isRunning = true;
  return true;
}

/** Called in a `finally`, as errors of a user's getter pass through Shoal's code. */
export function leaveLibrary(isOutermost: boolean): void {
  if (!isOutermost) return;
  libraryCode.isRunning = false;
  libraryCode.shield?.lower();
}

/** Runs the synchronous part of one of Shoal's functions. */
export function insideLibrary<T>(body: () => T): T {
  const isOutermost = enterLibrary();
  try {
    return body();
  } finally {
    leaveLibrary(isOutermost);
  }
}
