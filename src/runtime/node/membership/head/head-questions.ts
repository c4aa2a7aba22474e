/**
 * The open questions of this node's processes to the head: questions without an answer, and watched actors.
 *
 * A new head knows the tables, but not the waiting processes. A link repeats in order the messages that no head has acknowledged. Questions that a head had
 * acknowledged but not answered, and watches, are older, so this file sends them first. Thus nothing is asked twice or out of order: a placement group that was removed
 * before it was made would stay. A question is kept until its answer or the end of its process.
 */
import type { ActorId, ProcessId } from "../../../base/ids.ts";
import { encodeHeader } from "../../../wire/header.ts";
import { type Frame, wholeFrame } from "../../../wire/frame.ts";
import type { RoutedHeader } from "../../../wire/cluster/cluster-messages.ts";
import { extractFrom, type HeaderExtractors } from "../../../wire/tables/message-table.ts";
import type { MessagesToHead } from "../../../wire/tables/messages-to-head.ts";
import { MESSAGE } from "../../../wire/messages.ts";

/** A message for the head as the link sends it. */
export function frameForHead([from, { type, callId, flags, body }, header]: AskedMessage): Buffer {
  const routed: RoutedHeader = [from, "", type, callId, flags, header];
  return wholeFrame({ type: MESSAGE.ROUTED, flags: 0, callId: 0 }, encodeHeader(routed), [body]);
}

export type AskedMessage = readonly [from: ProcessId, message: Pick<Frame, "type" | "callId" | "flags" | "body">, header: unknown];

interface Question {
  /** The question's number in the order of all questions. */
  readonly order: number;
  readonly frame: Buffer;
}

/** Messages that begin a watch: the creator of an actor also watches it from then on. */
const WATCHED: HeaderExtractors<MessagesToHead, ActorId> = {
  [MESSAGE.ACTOR_WATCH]: (actor) => actor,
  [MESSAGE.ACTOR_CREATE]: ({ actorId }) => actorId,
};

const NOTHING = new Uint8Array(0);

export class HeadQuestions {
  readonly #open = new Map<ProcessId, Map<number, Question>>();
  /** With the frame that began it, as long as the link keeps that. */
  readonly #watched = new Map<ProcessId, Map<ActorId, WeakRef<Buffer>>>();
  #asked = 0;

  /** @param frame as it was sent */
  asked([from, { type, callId }, header]: AskedMessage, frame: Buffer): void {
    const actor = extractFrom(WATCHED, type, header);
    if (actor !== undefined) this.#watch(from, actor, frame);
    if (callId === 0) return;
    this.#asked += 1;
    const question: Question = { order: this.#asked, frame };
    const open = this.#open.get(from);
    if (open === undefined) this.#open.set(from, new Map([[callId, question]]));
    else open.set(callId, question);
  }

  answered(by: ProcessId, callId: number): void {
    const open = this.#open.get(by);
    open?.delete(callId);
    if (open?.size === 0) this.#open.delete(by);
  }

  processGone(process: ProcessId): void {
    this.#open.delete(process);
    this.#watched.delete(process);
  }

  /**
   * Returns the messages for another head: first watches, because a repeated creation is a watch, too, then questions in their order.
   *
   * @param kept messages that the link itself sends
   */
  again(kept: ReadonlySet<Buffer>): Buffer[] {
    const watches: Buffer[] = [];
    for (const [process, actors] of this.#watched) {
      for (const [actor, began] of actors) {
        if (kept.has(began.deref() ?? NO_FRAME)) continue;
        const watch = frameForHead([process, { type: MESSAGE.ACTOR_WATCH, callId: 0, flags: 0, body: NOTHING }, actor]);
        actors.set(actor, new WeakRef(watch));
        watches.push(watch);
      }
    }
    const questions = Array.from(this.#open.values()).flatMap((open) => Array.from(open.values()));
    questions.sort((left, right) => left.order - right.order);
    return [...watches, ...questions.map(({ frame }) => frame).filter((frame) => !kept.has(frame))];
  }

  #watch(process: ProcessId, actor: ActorId, frame: Buffer): void {
    const watched = this.#watched.get(process);
    if (watched === undefined) this.#watched.set(process, new Map([[actor, new WeakRef(frame)]]));
    else if (!watched.has(actor)) watched.set(actor, new WeakRef(frame));
  }
}

const NO_FRAME = Buffer.alloc(0);
