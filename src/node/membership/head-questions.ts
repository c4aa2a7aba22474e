/**
 * What processes of this node wait to hear from the head: questions without an answer, and actors that they watch.
 *
 * A head that takes over knows the tables, not who waits. A link sends again what no head has acknowledged; what one had acknowledged and not answered, or went on telling, is sent again from
 * here, marked as such, so that the head handles a question once that comes both ways. Kept until it is answered or the process ends.
 */
import { copyBytes } from "../../base/bytes.ts";
import type { ActorId, ProcessId } from "../../base/ids.ts";
import type { Message } from "../../rpc/peer-connection.ts";
import type { RoutedHeader } from "../../wire/cluster-messages.ts";
import { MESSAGE } from "../../wire/messages.ts";

export interface Question {
  readonly header: RoutedHeader;
  readonly body: Uint8Array;
}

const NOTHING = new Uint8Array(0);

export class HeadQuestions {
  readonly #open = new Map<ProcessId, Map<number, Question>>();
  readonly #watched = new Map<ProcessId, Set<ActorId>>();

  asked(from: ProcessId, { type, callId, flags, body }: Message, header: unknown): void {
    // Whoever creates an actor watches it from then on.
    if (type === MESSAGE.ACTOR_WATCH) this.#watch(from, header as ActorId);
    else if (type === MESSAGE.ACTOR_CREATE) this.#watch(from, (header as { actorId: ActorId }).actorId);
    if (callId === 0) return;
    const question: Question = { header: [from, "", type, callId, flags, header, true], body: copyBytes(body) };
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

  /** In the order in which each process asked; watches first, as what is created anew is watched by that. */
  again(): Question[] {
    const questions: Question[] = [];
    for (const [process, actors] of this.#watched) {
      for (const actor of actors) questions.push({ header: [process, "", MESSAGE.ACTOR_WATCH, 0, 0, actor], body: NOTHING });
    }
    for (const open of this.#open.values()) questions.push(...open.values());
    return questions;
  }

  #watch(process: ProcessId, actor: ActorId): void {
    const watched = this.#watched.get(process);
    if (watched === undefined) this.#watched.set(process, new Set([actor]));
    else watched.add(actor);
  }
}
