/**
 * Why a worker declined a task, where it is not one that takes no task any more.
 *
 * Sent by the call server of the worker in place of an answer, read by the caller's link to it. The task has not begun.
 */
import { fields, list, objectId, type Of, tuple } from "../header-shape.ts";
import { location } from "../messages.ts";

/** `lost`: dependencies of the task, and where their bytes were looked for in vain. */
export const declined = fields({ lost: list(tuple(objectId, location)) });
export type DeclinedHeader = Of<typeof declined>;
