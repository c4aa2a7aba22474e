/** The failure of a collective operation or its group: a member died, left, brought another array, or did not come in time. */
import { ShoalError } from "../../core/index.ts";
import { registerErrorClass } from "../../core/internal.ts";

/**
 * A collective operation failed, for all members alike. After the death or the absence of a member the group is unusable: make a new one.
 */
export class CollectiveError extends ShoalError {
  static override readonly code = "COLLECTIVE_FAILED";
}

registerErrorClass(CollectiveError);
