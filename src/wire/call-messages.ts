/**
 * What callers and workers say to each other directly: the header of each message, and its shape.
 *
 * Most calls and answers have a lone number for a header (flag NUMBER), which the frame's parser reads; these are for all others.
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
  [MESSAGE.TASK_CALL]: CallHeader;
  [MESSAGE.ACTOR_CALL]: CallHeader;
  [MESSAGE.DEFINITION]: DefinitionHeader;
  [MESSAGE.DEFINITION_DROPPED]: [number: number];
  [MESSAGE.METHOD]: [number: number, name: string, group?: string];
  [MESSAGE.CANCEL]: CancelHeader;
  [MESSAGE.WHY_CALL]: WhyCallHeader;
}

interface MessagesToCaller {
  [MESSAGE.RESULT]: ResultHeader;
  [MESSAGE.STREAM_ITEM]: StreamItemHeader;
  /** Without a header its worker takes no task any more. */
  [MESSAGE.TASK_DECLINED]: DeclinedHeader | undefined;
}

/** Without a consumer the limits of a stream are infinite. */
const limit: shape.Shape<number> = leaf("a number", (value) => typeof value === "number" && !Number.isNaN(value));
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
