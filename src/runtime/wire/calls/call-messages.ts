/**
 * Messages between callers and workers: the header of each, and its shape.
 *
 * Most calls and answers have a lone number for a header (flag NUMBER), which the frame's parser reads; these are for all others. Calls
 * have separate call ids, by which answers, items and cancellations name them.
 */
import { declined } from "./declined-header.ts";
import { definition } from "./definition-messages.ts";
import { fields, list, nothing, number, optional, orUndefined, text, tuple } from "../header-shape.ts";
import { call, cancel, MESSAGE, payload, streamItem } from "../messages.ts";
import { whyCall } from "./why-messages.ts";

export const MESSAGES_TO_WORKER = {
  /**
   * Calls a function. With NUMBER: the definition's number, for plain arguments and default options. `held`: where refs are inside, the number of the call or definition among
   * such on this connection, from 1. Body: an array of arguments, then the dependencies.
   */
  [MESSAGE.TASK_CALL]: call,
  /** Calls a method. With NUMBER: the method's number. `isRemade`: the call makes a lost object again, and comes before calls that have not begun. Body: as of TASK_CALL. */
  [MESSAGE.ACTOR_CALL]: call,
  /** Announces a function or class before its first call. Body: the definition. */
  [MESSAGE.DEFINITION]: definition,
  /** No later call uses this number. */
  [MESSAGE.DEFINITION_DROPPED]: tuple(number),
  /** Calls with this number are of the method of that name, in that concurrency group; without one, in the default group. */
  [MESSAGE.METHOD]: tuple(number, text, optional(text)),
  /**
   * The call from which the calls behind this message are made: its call id, and in the body the prefix of the id. Without a body, they are
   * made outside of a call.
   */
  [MESSAGE.CALL_PARENT]: nothing,
  /**
   * The caller does not wait for the call with this call id any more. The worker still answers it, with anything; with `abandon` at once,
   * if other calls have begun there.
   */
  [MESSAGE.CANCEL]: cancel,
  /** Asks why a call sent to this worker is pending. */
  [MESSAGE.WHY_CALL]: whyCall,
};

export const MESSAGES_TO_CALLER = {
  /**
   * With NUMBER: the run time in microseconds, and the body is one plain value. `held`: where refs are inside, the number of the answer among such on this connection, from 1.
   * Body: the values.
   */
  [MESSAGE.RESULT]: fields({ durationUs: number, returns: list(payload), held: optional(number) }),
  /** An item of the stream of the call with this call id. With NUMBER: the item's index from 0, and the body is one plain value. `held`: as in RESULT. Body: the value. */
  [MESSAGE.STREAM_ITEM]: streamItem,
  /**
   * In place of an answer: the call with this id has not begun and never will. Without a header, the worker takes no task any more, and the
   * caller sends the call to another worker. `lost`: the bytes of these dependencies are missing; the caller has them made again, and sends
   * the call once they have values. In either case the caller returns the lease.
   */
  [MESSAGE.TASK_DECLINED]: orUndefined(declined),
};
