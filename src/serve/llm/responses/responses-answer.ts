/**
 * Answers of `/v1/responses`: an engine's tokens become the items of an output, with an event for each step. Pure, but for ids and the clock.
 *
 * Items are thoughts, a message and calls of functions, in the order in which the engine begins them. Texts end where the next item begins; calls end with the answer, as
 * engines may mix their pieces. Both forms of an answer take the same steps, so they agree.
 */
import { randomUUID } from "node:crypto";
import type { FinishReason, Token, Usage } from "../engine.ts";
import type { Body } from "../openai/request-fields.ts";

type Fields = Record<string, unknown>;

/** An event before it has its number. */
type Event = { readonly type: string } & Fields;

/** An item of the output as it grows. */
interface Item {
  readonly kind: "reasoning" | "message" | "function_call";
  readonly id: string;
  readonly index: number;
  text: string;
  /** The function call; undefined for other kinds. */
  readonly call: { readonly place: unknown; readonly callId: string; name: string } | undefined;
  isOpen: boolean;
}

interface CallPiece {
  readonly index?: unknown;
  readonly id?: unknown;
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown };
}

export class ResponsesAnswer {
  readonly #head: Fields;
  readonly #items: Item[] = [];
  #events: Fields[] = [];
  #number = 0;
  #finishReason: FinishReason = "stop";
  #usage: Usage | undefined;
  #tokens = 0;

  constructor(model: string, repeated: Body) {
    this.#head = {
      id: newId("resp"),
      object: "response",
      created_at: seconds(),
      model,
      ...repeated,
      background: false,
      previous_response_id: null,
      store: false,
      truncation: "disabled",
      user: null,
    };
    for (const type of ["response.created", "response.in_progress"]) this.#add({ type, response: this.#body("in_progress") });
  }

  /** Events since the last call. */
  takeEvents(): Fields[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  add({ text, delta, finishReason, usage }: Token): void {
    const thought = delta?.["reasoning_content"] ?? delta?.["reasoning"];
    if (typeof thought === "string" && thought !== "") this.#write(this.#itemOf("reasoning"), thought);
    if (text !== undefined && text !== "") {
      this.#tokens += 1;
      this.#write(this.#itemOf("message"), text);
    }
    const refusal = delta?.["refusal"];
    if (typeof refusal === "string" && refusal !== "") this.#write(this.#itemOf("message"), refusal);
    const calls = delta?.["tool_calls"];
    if (Array.isArray(calls)) for (const piece of calls as CallPiece[]) this.#addCall(piece);
    if (finishReason !== undefined) this.#finishReason = finishReason;
    if (usage !== undefined) this.#usage = usage;
  }

  /** Ends the answer. @returns its whole body */
  end(): Fields {
    const isCut = this.#finishReason === "length" || this.#finishReason === "content_filter";
    // An answer has a message, even if the engine said nothing.
    if (this.#items.length === 0) this.#itemOf("message");
    const status = isCut ? "incomplete" : "completed";
    this.#closeAll(status);
    const response = this.#body(status);
    this.#add({ type: `response.${status}`, response });
    return response;
  }

  /** Ends the events of an answer that failed. */
  fail(code: string, message: string): void {
    this.#closeAll("incomplete");
    this.#add({ type: "response.failed", response: { ...this.#body("failed"), error: { code, message } } });
  }

  #add(event: Event): void {
    this.#events.push({ ...event, sequence_number: this.#number });
    this.#number += 1;
  }

  /** The open item of a kind; another one is closed. */
  #itemOf(kind: "reasoning" | "message"): Item {
    const last = this.#items.at(-1);
    return last?.isOpen === true && last.kind === kind
      ? last
      : this.#open({ kind, id: newId(kind === "message" ? "msg" : "rs"), call: undefined });
  }

  #open(begun: Pick<Item, "kind" | "id" | "call">): Item {
    const last = this.#items.at(-1);
    if (last !== undefined && last.kind !== "function_call") this.#close(last, "completed");
    const item: Item = { ...begun, index: this.#items.length, text: "", isOpen: true };
    this.#items.push(item);
    this.#add({ type: "response.output_item.added", output_index: item.index, item: itemBody(item, "in_progress", true) });
    if (item.kind !== "function_call") this.#add({ type: "response.content_part.added", ...placeOf(item), part: partBody(item) });
    return item;
  }

  #write(item: Item, piece: string): void {
    item.text += piece;
    const place = item.kind === "function_call" ? { item_id: item.id, output_index: item.index } : placeOf(item);
    this.#add({ type: `response.${EVENTS[item.kind]}.delta`, ...place, ...(item.kind === "message" && { logprobs: [] }), delta: piece });
  }

  #addCall({ index, id, function: part }: CallPiece): void {
    const known = this.#items.find(({ call }) => call !== undefined && index !== undefined && call.place === index);
    const item =
      known ??
      this.#open({
        kind: "function_call",
        id: newId("fc"),
        call: {
          place: index,
          callId: typeof id === "string" && id !== "" ? id : newId("call"),
          name: typeof part?.name === "string" ? part.name : "",
        },
      });
    const { arguments: more } = part ?? {};
    if (typeof more === "string" && more !== "") this.#write(item, more);
  }

  /** Closes all open items; the last one has the status of the answer. */
  #closeAll(status: "completed" | "incomplete"): void {
    const last = this.#items.at(-1);
    for (const item of this.#items) this.#close(item, item === last ? status : "completed");
  }

  #close(item: Item, status: "completed" | "incomplete"): void {
    if (!item.isOpen) return;
    item.isOpen = false;
    if (item.kind === "function_call") {
      const { name } = item.call as NonNullable<Item["call"]>;
      this.#add({
        type: "response.function_call_arguments.done",
        item_id: item.id,
        output_index: item.index,
        name,
        arguments: item.text,
      });
    } else {
      this.#add({
        type: `response.${EVENTS[item.kind]}.done`,
        ...placeOf(item),
        ...(item.kind === "message" && { logprobs: [] }),
        text: item.text,
      });
      this.#add({ type: "response.content_part.done", ...placeOf(item), part: partBody(item) });
    }
    this.#add({ type: "response.output_item.done", output_index: item.index, item: itemBody(item, status) });
  }

  #body(status: "in_progress" | "completed" | "incomplete" | "failed"): Fields {
    const reason = this.#finishReason === "length" ? "max_output_tokens" : "content_filter";
    const isOver = status !== "in_progress";
    const last = this.#items.length - 1;
    return {
      ...this.#head,
      status,
      completed_at: status === "completed" ? seconds() : null,
      error: null,
      incomplete_details: status === "incomplete" ? { reason } : null,
      output: isOver
        ? this.#items.map((item, index) => itemBody(item, status === "completed" || index < last ? "completed" : "incomplete"))
        : [],
      usage: isOver ? this.#usageBody() : null,
    };
  }

  #usageBody(): Fields {
    const { promptTokens, completionTokens } = this.#usage ?? { promptTokens: 0, completionTokens: this.#tokens };
    return {
      input_tokens: promptTokens,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: completionTokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: promptTokens + completionTokens,
    };
  }
}

const EVENTS = { reasoning: "reasoning_text", message: "output_text", function_call: "function_call_arguments" } as const;

function placeOf({ id, index }: Item): Fields {
  return { item_id: id, output_index: index, content_index: 0 };
}

function partBody({ kind, text }: Item): Fields {
  return kind === "reasoning" ? { type: "reasoning_text", text } : { type: "output_text", text, annotations: [], logprobs: [] };
}

/** @param isNew the item has no part yet */
function itemBody(item: Item, status: string, isNew = false): Fields {
  const { kind, id, call } = item;
  if (call !== undefined) return { id, type: kind, status, call_id: call.callId, name: call.name, arguments: item.text };
  const content = isNew ? [] : [partBody(item)];
  return kind === "reasoning" ? { id, type: kind, status, summary: [], content } : { id, type: kind, status, role: "assistant", content };
}

function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll("-", "")}`;
}

function seconds(): number {
  return Math.floor(Date.now() / 1000);
}
