/**
 * The inputs of a plan (nodes, waiting demand and instances at one moment), and its result.
 *
 * Amounts are in users' units by name. Times are in milliseconds. Data alone.
 */
import type { Instance } from "../instances/instance.ts";

export interface SnapshotNode {
  readonly nodeId: string;
  readonly state: "alive" | "suspect" | "draining";
  readonly labels: Readonly<Record<string, string>>;
  readonly total: Readonly<Record<string, number>>;
  readonly free: Readonly<Record<string, number>>;
  /** Time since the node held anything; undefined while it does. */
  readonly idleMs?: number | undefined;
}

export interface SnapshotGroup {
  readonly id: string;
  readonly strategy: "PACK" | "SPREAD" | "STRICT_PACK" | "STRICT_SPREAD";
  readonly bundles: readonly Readonly<Record<string, number>>[];
  readonly labels: readonly Readonly<Record<string, string>>[];
  /** The node of each bundle; undefined for one without a place. */
  readonly nodeIds: readonly (string | undefined)[];
}

/** A bundle of `requestResources`. */
export interface RequestedBundle {
  readonly resources: Readonly<Record<string, number>>;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** A type that is not launched for a while. */
export interface BackOff {
  readonly untilMs: number;
  readonly cause: string;
  readonly message: string;
}

export interface Snapshot {
  readonly nodes: readonly SnapshotNode[];
  /** Shapes of waiting calls and actors (`runtime/scheduling/lease-spec.ts`), with counts. */
  readonly waiting: readonly (readonly [shape: string, count: number])[];
  readonly groups: readonly SnapshotGroup[];
  /** Bundles for which the cluster is asked to have room, used or not. */
  readonly requested: readonly RequestedBundle[];
  /** Instances that have not ended. */
  readonly instances: readonly Instance[];
  readonly backOffs: ReadonlyMap<string, BackOff>;
  /** Whether all nodes are known: a new head hears of them one by one. */
  readonly isComplete: boolean;
}

/** The fate of a demand. `key` is a shape, or the id of a placement group; `what` names it for people. */
export interface Verdict {
  readonly key: string;
  readonly what: string;
  readonly count: number;
  readonly text: string;
}

export interface Plan {
  readonly launches: readonly { readonly type: string; readonly count: number }[];
  /** Instances whose nodes are idle and not needed. */
  readonly drains: readonly string[];
  /** Queued instances that the cluster file allows no more. */
  readonly cancels: readonly string[];
  readonly verdicts: readonly Verdict[];
}
