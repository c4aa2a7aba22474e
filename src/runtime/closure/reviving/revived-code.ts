/**
 * Remembers the functions and classes revived in this process, so that they can be sent on.
 *
 * Owns two tables. One maps a revived function or class to its original text and lexical context, since its present text may be edited. The
 * other maps the name of an evaluated text to its original file, which identifies closures that revived code creates. Written by `revive`,
 * read by `capture`: a task that sends its own closures onward needs both.
 */
import type { BindingNode, Code, SourcePlace } from "../graph.ts";

// biome-ignore lint/complexity/noBannedTypes: any callable is meant, classes included.
export type AnyFunction = Function;

/** One file's top level as revived here. */
export interface RevivedSource extends SourcePlace {
  /** Top-level names that are imports, imported again wherever the code goes. */
  readonly bindings: ReadonlyMap<string, BindingNode>;
}

export interface RevivedCode {
  readonly code: Code;
  readonly source: RevivedSource;
  /** Names that belong to enclosing calls, not to the top level. */
  readonly localNames: ReadonlySet<string>;
  /** The `this` that an arrow function closes over, and the class whose text contains it. */
  readonly self?: { readonly value: unknown };
  readonly home?: AnyFunction;
  /** The definition that contained the code; absent for code that arrived inside a value. */
  readonly definition: string | null;
}

const codeByFunction = new WeakMap<object, RevivedCode>();
/** Grows with the distinct texts that were revived: as much as the program has code. */
const sourceByUrl = new Map<string, RevivedSource>();

export function recordRevivedCode(target: object, code: RevivedCode): void {
  codeByFunction.set(target, code);
}

export function revivedCodeOf(target: object): RevivedCode | undefined {
  return codeByFunction.get(target);
}

export function recordRevivedSource(url: string, source: RevivedSource): void {
  sourceByUrl.set(url, source);
}

export function revivedSourceAt(url: string): RevivedSource | undefined {
  return sourceByUrl.get(url);
}
