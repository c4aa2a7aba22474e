/**
 * What callers and workers say to each other directly: the header of each message, and its shape.
 *
 * Most calls and answers have a lone number for a header (flag NUMBER), which the frame's parser reads; these are for all others.
 * Calls have call ids of their own, by which answers, items and cancellations name them.
 */
import type { DeclinedHeader } from "./declined-header.ts";
import type { DefinitionHeader } from "./definition-messages.ts";
import { accelerators, definition, location, payload, trail } from "./header-parts.ts";
import * as shape from "./header-shape.ts";
import type { Shapes } from "./message-table.ts";
import { type CallHeader, type CancelHeader, MESSAGE, type ResultHeader, type StreamHeader, type StreamItemHeader } from "./messages.ts";
import type { WhyCallHeader } from "./why-messages.ts";

const { actorId, exactly, fields, flag, leaf, list, number, objectId, optional, text, tuple } = shape;

interface MessagesToWorker {
  /**
   * Calls a function. With NUMBER: the definition's number, for plain arguments and default options. `held`: where refs are inside, the number of the call or definition among
   * such on this connection, from 1. Body: an array of arguments, then the dependencies.
   */
  [MESSAGE.TASK_CALL]: CallHeader;
  /** Calls a method. With NUMBER: the method's number. `isRemade`: the call makes a lost object again, and comes before calls that have not begun. Body: as of TASK_CALL. */
  [MESSAGE.ACTOR_CALL]: CallHeader;
  /** A function or class, ahead of its first call. Body: the definition. */
  [MESSAGE.DEFINITION]: DefinitionHeader;
  /** No call with this number comes any more. */
  [MESSAGE.DEFINITION_DROPPED]: [number: number];
  /** Calls with this number are of the method of that name, in that concurrency group; without one, in the default group. */
  [MESSAGE.METHOD]: [number: number, name: string, group?: string];
  /** Nobody waits for the call with this call id any more. It is answered all the same, with anything; `abandon`: at once, if others have begun there. */
  [MESSAGE.CANCEL]: CancelHeader;
  /** What a call waits for that was sent to this worker. */
  [MESSAGE.WHY_CALL]: WhyCallHeader;
}

interface MessagesToCaller {
  /**
   * With NUMBER: the run time in microseconds, and the body is one plain value. `held`: where refs are inside, the number of the answer among such on this connection, from 1.
   * Body: the values.
   */
  [MESSAGE.RESULT]: ResultHeader;
  /** An item of the stream of the call with this call id. With NUMBER: the item's index from 0, and the body is one plain value. `held`: as in RESULT. Body: the value. */
  [MESSAGE.STREAM_ITEM]: StreamItemHeader;
  /**
   * In place of an answer: the call with this id has not begun and never will. Without a header, the worker takes no task any more, and the caller sends the call elsewhere.
   * `lost`: the bytes of these dependencies are not where they should be; the caller has them made again, and sends the call once they have values. In either case the caller
   * returns the lease.
   */
  [MESSAGE.TASK_DECLINED]: DeclinedHeader | undefined;
}

/** Without a consumer the limits of a stream are infinite. */
const limit: shape.Shape<number> = leaf("a number", (value) => typeof value === "number" && !Number.isNaN(value), "number or infinity");
const stream = fields<StreamHeader>({ skip: number, consumed: number, itemsAhead: limit, bytesAhead: limit });
/** The shape of a lease is read by the executor's table of shapes; an actor's is empty. */
const call = fields<CallHeader>({
  target: number,
  shape: text,
  sequenceHigh: number,
  args: payload,
  deps: list(payload),
  numReturns: number,
  name: optional(text),
  actorId: optional(actorId),
  incarnation: number,
  isRemade: optional(exactly(true)),
  accelerators: optional(accelerators),
  stream: optional(stream),
  held: optional(number),
});

export const MESSAGES_TO_WORKER: Shapes<MessagesToWorker> = {
  [MESSAGE.TASK_CALL]: call,
  [MESSAGE.ACTOR_CALL]: call,
  [MESSAGE.DEFINITION]: definition,
  [MESSAGE.DEFINITION_DROPPED]: tuple<[number: number]>(number),
  [MESSAGE.METHOD]: tuple<MessagesToWorker[typeof MESSAGE.METHOD]>(number, text, optional(text)),
  [MESSAGE.CANCEL]: fields<CancelHeader>({ recursive: flag, abandon: flag }),
  [MESSAGE.WHY_CALL]: fields<WhyCallHeader>({ callId: number, trail }),
};

export const MESSAGES_TO_CALLER: Shapes<MessagesToCaller> = {
  [MESSAGE.RESULT]: fields<ResultHeader>({
    durationUs: number,
    returns: list(payload),
    held: optional(number) as shape.Shape<number>,
  }),
  [MESSAGE.STREAM_ITEM]: fields<StreamItemHeader>({ index: number, item: payload, held: optional(number) as shape.Shape<number> }),
  [MESSAGE.TASK_DECLINED]: optional(fields<DeclinedHeader>({ lost: list(tuple<DeclinedHeader["lost"][number]>(objectId, location)) })),
};
