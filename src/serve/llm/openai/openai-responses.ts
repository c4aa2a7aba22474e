/**
 * Answers of OpenAI's API: from the tokens of an engine to whole bodies and to the events of a stream. Pure.
 *
 * Called by `openai-ingress.ts`.
 * Decides how pieces of a message are put together: texts are joined, calls of tools by their index, everything else is the last that came.
 */
import type { Embedding, FinishReason, Token, Usage } from "../engine.ts";

/** Chat, or plain completion. */
export type AnswerKind = "chat" | "completion";

export interface AnswerHead {
  readonly kind: AnswerKind;
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly model: string;
}

type Fields = Record<string, unknown>;

/** A choice of the response, gathered token by token. */
export class Choice {
  readonly index: number;
  /** Index of the prompt that the choice answers. */
  readonly prompt: number;
  #text: string;
  readonly #message: Fields = {};
  #finishReason: FinishReason = "stop";
  #tokens = 0;
  #usage: Usage | undefined;
  #logprobs: unknown = null;

  /** @param text the beginning of the answer */
  constructor(index: number, prompt = 0, text = "") {
    this.index = index;
    this.prompt = prompt;
    this.#text = text;
  }

  add({ text, delta, finishReason, usage, logprobs }: Token): void {
    if (text !== undefined && text !== "") {
      this.#text += text;
      this.#tokens += 1;
    }
    if (delta !== undefined) mergeDelta(this.#message, delta);
    if (finishReason !== undefined) this.#finishReason = finishReason;
    if (usage !== undefined) this.#usage = usage;
    if (logprobs !== undefined && logprobs !== null) this.#logprobs = joinedLogprobs(this.#logprobs, logprobs);
  }

  get finishReason(): FinishReason {
    return this.#finishReason;
  }

  get usage(): Usage {
    return this.#usage ?? { promptTokens: 0, completionTokens: this.#tokens };
  }

  body(kind: AnswerKind): Fields {
    const { index } = this;
    const end = { logprobs: this.#logprobs, finish_reason: this.#finishReason };
    if (kind === "completion") return { index, text: this.#text, ...end };
    const content = this.#text === "" && this.#message["tool_calls"] !== undefined ? null : this.#text;
    return { index, message: { role: "assistant", content, ...withoutIndexes(this.#message) }, ...end };
  }
}

export function wholeAnswer(head: AnswerHead, choices: readonly Choice[]): Fields {
  return {
    id: head.id,
    object: head.kind === "chat" ? "chat.completion" : "text_completion",
    created: head.created,
    model: head.model,
    choices: choices.map((choice) => choice.body(head.kind)),
    usage: usageBody(choices),
  };
}

/** The event of one token; the first of a chat says the role. */
export function tokenEvent(head: AnswerHead, index: number, { text, delta, logprobs }: Token, isFirst: boolean): Fields {
  return answerChunk(head, {
    index,
    ...(head.kind === "chat"
      ? { delta: { ...(isFirst && { role: "assistant" }), ...(text !== undefined && { content: text }), ...delta } }
      : { text: text ?? "" }),
    logprobs: logprobs ?? null,
    finish_reason: null,
  });
}

export function endEvent(head: AnswerHead, choice: Choice): Fields {
  const { index, finishReason } = choice;
  return answerChunk(head, {
    index,
    ...(head.kind === "chat" ? { delta: {} } : { text: "" }),
    logprobs: null,
    finish_reason: finishReason,
  });
}

export function usageEvent(head: AnswerHead, choices: readonly Choice[]): Fields {
  return { ...answerChunk(head), usage: usageBody(choices) };
}

function answerChunk(head: AnswerHead, ...choices: Fields[]): Fields {
  const object = head.kind === "chat" ? "chat.completion.chunk" : "text_completion";
  return { id: head.id, object, created: head.created, model: head.model, choices };
}

export function embeddingAnswer(model: string, embeddings: readonly Embedding[], isBase64: boolean): Fields {
  const tokens = embeddings.reduce((sum, { promptTokens }) => sum + promptTokens, 0);
  return {
    object: "list",
    model,
    data: embeddings.map(({ vector }, index) => ({ object: "embedding", index, embedding: isBase64 ? base64Of(vector) : vector })),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

/** As OpenAI does: 32-bit numbers, the lowest byte first. */
function base64Of(vector: readonly number[]): string {
  const view = new DataView(new ArrayBuffer(vector.length * 4));
  for (const [index, value] of vector.entries()) view.setFloat32(index * 4, value, true);
  return Buffer.from(view.buffer).toString("base64");
}

/** A prompt with several choices counts once. */
function usageBody(choices: readonly Choice[]): Fields {
  const prompts = new Map(choices.map(({ prompt, usage }) => [prompt, usage.promptTokens]));
  const prompt = [...prompts.values()].reduce((sum, tokens) => sum + tokens, 0);
  const completion = choices.reduce((sum, { usage }) => sum + usage.completionTokens, 0);
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

function mergeDelta(message: Fields, delta: Readonly<Fields>): void {
  for (const [name, value] of Object.entries(delta)) {
    const known = message[name];
    if (name === "tool_calls" && Array.isArray(value))
      message[name] = mergedCalls((known ?? []) as ToolCallPiece[], value as ToolCallPiece[]);
    else message[name] = typeof known === "string" && typeof value === "string" ? known + value : value;
  }
}

interface ToolCallPiece {
  readonly index?: number;
  readonly function?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** Merges pieces of tool calls: the first piece of a call has its id and name, the others continue its arguments. */
function mergedCalls(known: readonly ToolCallPiece[], pieces: readonly ToolCallPiece[]): ToolCallPiece[] {
  const calls = [...known];
  for (const piece of pieces) {
    const at = piece.index === undefined ? calls.length : calls.findIndex(({ index }) => index === piece.index);
    const call = at === -1 ? undefined : calls[at];
    if (call === undefined) {
      calls.push(piece);
      continue;
    }
    const { arguments: more } = piece.function ?? {};
    const merged = {
      ...call.function,
      arguments: `${(call.function?.["arguments"] as string | undefined) ?? ""}${(more as string | undefined) ?? ""}`,
    };
    calls[at] = { ...call, function: merged };
  }
  return calls;
}

function withoutIndexes(message: Readonly<Fields>): Fields {
  const calls = message["tool_calls"];
  if (!Array.isArray(calls)) return message;
  return { ...message, tool_calls: calls.map(({ index: _index, ...call }: ToolCallPiece) => call) };
}

/** Joins the log probabilities of two pieces, list by list. Chats have `{ content: [...] }`, completions have several lists. */
function joinedLogprobs(known: unknown, more: unknown): unknown {
  if (typeof known !== "object" || known === null || typeof more !== "object" || more === null) return more;
  const joined: Fields = { ...known };
  for (const [name, value] of Object.entries(more)) {
    const before = joined[name];
    joined[name] = Array.isArray(before) && Array.isArray(value) ? [...(before as unknown[]), ...(value as unknown[])] : value;
  }
  return joined;
}
