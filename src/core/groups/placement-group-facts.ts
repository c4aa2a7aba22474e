/**
 * The facts behind handles of placement groups: a table beside the handles, for options that take a handle and for the codec that sends one.
 *
 * Apart from `placement-group.ts`, which needs the options itself.
 */
import type { ResourceVector } from "../../runtime/base/resources.ts";

export interface GroupFacts {
  readonly id: string;
  /** Undefined where only the id is known: the group of the current task. */
  readonly bundles: readonly ResourceVector[] | undefined;
}

const facts = new WeakMap<object, GroupFacts>();

export function registerGroup(handle: object, its: GroupFacts): void {
  facts.set(handle, its);
}

export function groupFacts(value: unknown): GroupFacts | undefined {
  return typeof value === "object" && value !== null ? facts.get(value) : undefined;
}
