/**
 * Why a worker declined a task, where it is not one that takes no task any more.
 *
 * Sent by the call server of the worker in place of an answer, read by the caller's link to it. The task has not begun.
 */
import type { ObjectId } from "../base/ids.ts";
import type { WireLocation } from "./messages.ts";

export interface DeclinedHeader {
  /** Dependencies of the task, and where their bytes were looked for in vain. */
  readonly lost: readonly (readonly [id: ObjectId, location: WireLocation])[];
}
