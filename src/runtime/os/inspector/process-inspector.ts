/**
 * The views into a living process of any language: stacks, profiles, and a debugger's address.
 *
 * A worker's launcher makes one for each process that has an inspector. The process need not cooperate: it may compute without end.
 */

/** `cpu` and `heap` are profiles over a time; `snapshot` is the whole heap. */
export type InspectorWork = "stack" | "cpu" | "heap" | "snapshot";

export interface WorkOptions {
  /** Length of a profile. */
  readonly durationMs: number;
  /** Takes the next part of the result. Resolves when more may come. */
  readonly write: (text: string) => Promise<void>;
}

export interface ProcessInspector {
  /** @throws Error with the reason why the process cannot be looked into */
  run(work: InspectorWork, options: WorkOptions): Promise<void>;
  /** Opens the inspector for a debugger. @returns its address on this machine */
  open(): Promise<string>;
  /** Closes what `open` has opened. */
  close(): Promise<void>;
}

/** A stack as JSON, which is the result of the work `stack`. */
export interface ProcessStack {
  readonly language: "javascript" | "python";
  readonly threads: readonly ThreadStack[];
}

export interface ThreadStack {
  readonly name: string;
  /** The innermost call first. Empty: the thread waits for events. */
  readonly frames: readonly StackFrame[];
}

export interface StackFrame {
  readonly function: string;
  readonly file: string;
  readonly line: number;
  /** Code of Node or Shoal, not of a user. */
  readonly isInternal?: true;
}
