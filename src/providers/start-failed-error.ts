/** Why something of a cluster could not start, as its own process told it. */
import { ShoalError } from "../base/errors.ts";
import type { StartFailure } from "../platform/processes/start-failure.ts";

export function startFailedError({ code, message, reason, hint }: StartFailure): ShoalError {
  const error = new ShoalError(message, { reason, hint });
  // The class stays behind in the other process; by its code it is known here, too.
  (error as { code: string }).code = code;
  return error;
}
