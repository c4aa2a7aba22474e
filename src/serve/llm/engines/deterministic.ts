/**
 * An engine without a model, for tests of applications: the same request gets the same answer, word by word, in no time or in as much as it is told.
 *
 * The engine answers a chat with `You said: ` and the user's last message. Completions are the prompt's words in reverse. Embeddings are made of hashes of words, so that texts
 * with words in common are near each other. A token is a word with the space before it.
 */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { ChatMessage, ChatRequest, CompletionRequest, Embedding, EmbedRequest, LLMEngine, SamplingOptions, Token } from "../engine.ts";
import { LLMRequestError } from "../llm-errors.ts";
import { StopSequences } from "../stop-sequences.ts";

export interface DeterministicOptions {
  /** Fixed answer to all chats and completions. Default: an answer made from the request. */
  readonly reply?: string | undefined;
  /** How long each token takes. Default: 0. */
  readonly tokenDelayMs?: number | undefined;
  /** Numbers in an embedding. Default: 64. */
  readonly dimensions?: number | undefined;
}

const DIMENSIONS = 64;

export class DeterministicEngine implements LLMEngine {
  readonly #options: DeterministicOptions;

  constructor(options: DeterministicOptions) {
    this.#options = options;
  }

  chat(request: ChatRequest, signal: AbortSignal): AsyncIterable<Token> {
    const said = request.messages.findLast(({ role }) => role === "user");
    const promptTokens = request.messages.reduce((sum, message) => sum + wordsOf(textOf(message)).length, 0);
    return this.#answer(this.#options.reply ?? `You said: ${said === undefined ? "" : textOf(said)}`, promptTokens, request, signal);
  }

  complete(request: CompletionRequest, signal: AbortSignal): AsyncIterable<Token> {
    const words = wordsOf(plainText(request.prompt, "prompt"));
    return this.#answer(
      this.#options.reply ??
        ` ${words
          .map((word) => word.trim())
          .toReversed()
          .join(" ")}`,
      words.length,
      request,
      signal,
    );
  }

  async *embed({ inputs, dimensions = this.#options.dimensions ?? DIMENSIONS }: EmbedRequest): AsyncGenerator<Embedding, void, undefined> {
    for (const input of inputs) {
      const words = wordsOf(plainText(input, "input"));
      yield { vector: hashed(words, dimensions), promptTokens: words.length };
    }
  }

  async *#answer(
    text: string,
    promptTokens: number,
    request: SamplingOptions,
    signal: AbortSignal,
  ): AsyncGenerator<Token, void, undefined> {
    const { maxTokens = Number.POSITIVE_INFINITY, stop } = request;
    const stops = new StopSequences(stop);
    const words = wordsOf(text);
    let completionTokens = 0;
    const end = (finishReason: "stop" | "length"): Token => ({ finishReason, usage: { promptTokens, completionTokens } });
    for (const word of words) {
      if (completionTokens >= maxTokens) {
        yield { text: stops.rest() };
        yield end("length");
        return;
      }
      if (this.#options.tokenDelayMs !== undefined) await sleep(this.#options.tokenDelayMs, undefined, { signal });
      signal.throwIfAborted();
      completionTokens += 1;
      const next = stops.next(word);
      if (next.text !== "") yield { text: next.text };
      if (next.isEnd) {
        yield end("stop");
        return;
      }
    }
    const rest = stops.rest();
    if (rest !== "") yield { text: rest };
    yield end("stop");
  }
}

function wordsOf(text: string): string[] {
  return text.match(/\s*\S+/g) ?? [];
}

function textOf({ content }: ChatMessage): string {
  if (typeof content === "string") return content;
  return (content ?? []).map(({ text }) => text ?? "").join("");
}

/** @throws LLMRequestError for tokens: there is no vocabulary */
function plainText(text: string | readonly number[], param: string): string {
  if (typeof text === "string") return text;
  throw LLMRequestError.of(`Invalid ${param}: this model takes text, and no tokens`, { param, code: "invalid_value" });
}

/** A vector of length 1. */
function hashed(words: readonly string[], dimensions: number): number[] {
  const vector = Array.from({ length: dimensions }, () => 0);
  for (const word of words) {
    const hash = createHash("sha256").update(word.trim().toLowerCase()).digest();
    const at = hash.readUInt32LE(0) % dimensions;
    vector[at] = (vector[at] as number) + (hash[4] as number) / 255 + 0.5;
  }
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((value) => value / length);
}
