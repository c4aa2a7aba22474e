/** The failures of compiled graphs, as members of the family of errors: they keep their class across processes. */
import { ShoalError } from "../core/index.ts";
import { registerErrorClass } from "../core/internal.ts";

/** As many executions of the compiled graph are under way as `maxInflightExecutions` allows. */
export class GraphCapacityExceededError extends ShoalError {
  static override readonly code = "GRAPH_CAPACITY_EXCEEDED";
}

/** The compiled graph has ended, by `teardown` or with an actor, whose error is then the `cause`. */
export class GraphClosedError extends ShoalError {
  static override readonly code = "GRAPH_CLOSED";
}

registerErrorClass(GraphCapacityExceededError);
registerErrorClass(GraphClosedError);
