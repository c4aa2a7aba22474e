/**
 * The headers of questions of `why`, and of their answers; the numbers are in `messages.ts`.
 *
 * The questions go from process to process along the calls that wait for each other (`core/why/why.ts`), and at the end to the node, which
 * knows the state of leases. The node in turn asks the head, if there are other nodes.
 */
import {
  count,
  exactly,
  fields,
  flag,
  leaf,
  list,
  named,
  number,
  objectId,
  type Of,
  optional,
  orUndefined,
  processId,
  record,
  type Shape,
  text,
  unchecked,
} from "../header-shape.ts";

/** The calls that a question of `why` has passed through, task id and name of each, and the time limit of the answer. */
export const trail = named("trail", fields({ visited: list(unchecked<[task: string, name: string]>()), withinMs: number }));
export type WhyTrail = Of<typeof trail>;

/** See `Why` in core/options/scheduling-types.ts. Written down, as it is of itself. */
export interface WhyHeader {
  what: string;
  state: string;
  reason: string;
  causes: WhyHeader[];
  details: Record<string, unknown>;
}

/** Explains a pending call: its process, the state, the cause, and the waits behind it. */
export const why: Shape<WhyHeader> = named(
  "why answer",
  fields({
    what: text,
    state: text,
    reason: text,
    causes: list(leaf<WhyHeader>("such an answer", (value) => why(value), "why answer")),
    details: record(unchecked<unknown>()),
  }),
);

export const whyRef = fields({ id: objectId, owner: processId, trail });
export type WhyRefHeader = Of<typeof whyRef>;

export const whyCall = fields({ callId: number, trail });
export type WhyCallHeader = Of<typeof whyCall>;

const numbers = record(number);

/** Explains a waiting demand on the node. */
export const leaseReport = fields({
  refusal: orUndefined(text),
  obstacle: orUndefined(text),
  pendingGroup: orUndefined(text),
  lacking: list(fields({ name: text, wanted: number, free: number })),
  holders: list(fields({ kind: exactly("tasks", "actor", "group"), id: text, name: text, resources: numbers })),
  workersStarting: count,
  /** Whether the head knows of other nodes, and should be asked as well (WHY_PLACE). */
  isClustered: optional(flag),
  /** The demand's runtime environment is not ready here. */
  environment: optional(exactly("asked", "building")),
});
export type LeaseReportHeader = Of<typeof leaseReport>;

/** `suspect`: the node's connection is down; `draining`: it finishes its work. */
export const nodeState = exactly("alive", "suspect", "draining");

/** `total` and `free`: of the resources that the demand needs. */
const placeNode = fields({ nodeId: text, hostname: text, state: nodeState, total: numbers, free: numbers });
export type PlaceNodeHeader = Of<typeof placeNode>;

/** Explains a waiting demand in the cluster, as the head sees it. */
export const placeReport = fields({
  needs: numbers,
  /** Ends a sentence that begins with the waiting demand. */
  infeasible: orUndefined(text),
  /** The label selectors that it may go by, in the order in which they are tried, and how many nodes meet each; absent where there is only one. */
  selectors: optional(list(fields({ text, nodeCount: count }))),
  /** Candidate nodes; the first of many. */
  nodes: list(placeNode),
  nodeCount: count,
  /** The autoscaler's verdict on such demands. */
  autoscaler: optional(text),
  /** For how long the head has kept no changes, and why: ends a sentence that begins with the head. */
  stalled: optional(text),
});
export type PlaceReportHeader = Of<typeof placeReport>;
