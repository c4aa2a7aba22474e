/** The errors of `shoal/rl`. */
import { registerErrorClass, ShoalError } from "../runtime/base/errors.ts";

/** An algorithm cannot be built, cannot go on, or cannot be restored. */
export class RLError extends ShoalError {
  static override readonly code: string = "RL_FAILED";
}

/** An environment threw, or returned something that does not fit its spaces. The message names the class, the field and the value. */
export class EnvironmentError extends ShoalError {
  static override readonly code: string = "RL_ENVIRONMENT";
}

/** The process of an environment has ended: that of a Python environment, for example. */
export class EnvironmentDiedError extends EnvironmentError {
  static override readonly code: string = "RL_ENVIRONMENT_DIED";
}

registerErrorClass(RLError);
registerErrorClass(EnvironmentError);
registerErrorClass(EnvironmentDiedError);
