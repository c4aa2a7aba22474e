/** The failures of a queue, as a family of their own: a full one, an empty one, and one that has been shut down. */
import { registerErrorClass, ShoalError } from "../base/errors.ts";

/** There was no room in the queue, at once or within `timeoutMs`. */
export class QueueFullError extends ShoalError {
  static override readonly code: string = "QUEUE_FULL";
}

/** There was nothing in the queue, at once or within `timeoutMs`. */
export class QueueEmptyError extends ShoalError {
  static override readonly code: string = "QUEUE_EMPTY";
}

/** `shutdown` was called on the queue: nothing can be put, and nothing is left to get. */
export class QueueShutdownError extends ShoalError {
  static override readonly code: string = "QUEUE_SHUT_DOWN";
}

for (const errorClass of [QueueFullError, QueueEmptyError, QueueShutdownError]) registerErrorClass(errorClass);
