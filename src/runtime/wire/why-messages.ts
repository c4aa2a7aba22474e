/**
 * The headers of questions about what a call waits for, and of their answers; the numbers are in `messages.ts`.
 *
 * They go from process to process along the calls that wait for each other (`core/why/why.ts`), and at the end to the node, which knows what a lease waits for.
 */
import type { ObjectId, ProcessId } from "../base/ids.ts";

/** The way that a question of `why` has come, and how long its answer may take. */
export interface WhyTrail {
  /** Task id and name of each call on the way. */
  visited: [task: string, name: string][];
  withinMs: number;
}

/** What a call waits for; see `Why` in core/options/scheduling-types.ts. */
export interface WhyHeader {
  what: string;
  state: string;
  reason: string;
  causes: WhyHeader[];
  details: Record<string, unknown>;
}

export interface WhyRefHeader {
  id: ObjectId;
  owner: ProcessId;
  trail: WhyTrail;
}

export interface WhyCallHeader {
  callId: number;
  trail: WhyTrail;
}

/** What a demand waits for on the node. */
export interface LeaseReportHeader {
  refusal: string | undefined;
  obstacle: string | undefined;
  pendingGroup: string | undefined;
  lacking: { name: string; wanted: number; free: number }[];
  holders: { kind: "tasks" | "actor" | "group"; id: string; name: string; resources: Record<string, number> }[];
  workersStarting: number;
  /** Whether the head knows of other nodes, and is to be asked what it waits for there (WHY_PLACE). */
  isClustered?: boolean | undefined;
  /** Its runtime environment is not ready here. */
  environment?: "asked" | "building" | undefined;
}

/** What a demand waits for in the cluster, as the head sees it. */
export interface PlaceReportHeader {
  needs: Record<string, number>;
  /** The end of a sentence that begins with who waits. */
  infeasible: string | undefined;
  /** The label selectors that it may go by, in the order in which they are tried, and how many nodes meet each; absent where there is only one. */
  selectors?: { text: string; nodeCount: number }[] | undefined;
  /** Of the nodes that it could be on; the first of many. */
  nodes: PlaceNodeHeader[];
  nodeCount: number;
}

export interface PlaceNodeHeader {
  nodeId: string;
  hostname: string;
  state: "alive" | "suspect" | "draining";
  /** Of what it needs. */
  total: Record<string, number>;
  free: Record<string, number>;
}
