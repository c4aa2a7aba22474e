/** The failure of a collective operation or of its group: a member that died, left, came with another array, or did not come in time. */
import { ShoalError } from "../../core/index.ts";
import { registerErrorClass } from "../../core/internal.ts";

/** A collective operation failed, for all of its members alike. After the death or the absence of a member the group is of no more use: make it anew. */
export class CollectiveError extends ShoalError {
  static override readonly code = "COLLECTIVE_FAILED";
}

registerErrorClass(CollectiveError);
