/**
 * Requests of OpenAI's API: from the JSON of a client to what engines get. Pure.
 *
 * Decides what is refused, and by which field: a wrong type, a value out of range, a missing field. Fields that are not named here go to the engine as they came,
 * because engines know more of them than any list (`top_k`, `guided_json`, `tools`).
 */
import { isPlainObject } from "../../../core/internal.ts";
import type { ChatMessage, ChatRequest, CompletionRequest, EmbedRequest } from "../engine.ts";
import { type Body, Fields, type RequestFrame, wholeFrom, wrong } from "./request-fields.ts";

interface ReadChat extends RequestFrame {
  readonly request: ChatRequest;
}
interface ReadCompletion extends RequestFrame {
  readonly requests: readonly CompletionRequest[];
  /** The prompt comes first in the answer. */
  readonly echoes: boolean;
}
interface ReadEmbedding {
  readonly model: string;
  readonly request: EmbedRequest;
  readonly isBase64: boolean;
}

const ROLES: ReadonlySet<unknown> = new Set(["system", "developer", "user", "assistant", "tool", "function"]);
/** OpenAI's own limit. */
const INPUTS_MAX = 2048;
/** Answers of one request: each is a call. OpenAI limits prompts and `n`, whose product would be 262,144. */
const ANSWERS_MAX = 2048;
/** Numbers of all embeddings of one request: 2,048 inputs with 4,096 each, as the largest models have. */
const EMBEDDED_NUMBERS_MAX = INPUTS_MAX * 4096;
const DIMENSIONS_MAX = 65_536;

/** @throws LLMRequestError that names the field */
export function readChat(body: unknown): ReadChat {
  const fields = new Fields(body);
  const model = fields.model();
  const messages = readMessages(fields.take("messages"));
  const frame = fields.frame();
  fields.bestOf();
  // Newer clients send max_completion_tokens; it counts where both are there.
  const newer = fields.optional("max_completion_tokens", ...wholeFrom(1));
  const sampling = fields.sampling();
  return { model, ...frame, request: { messages, ...sampling, maxTokens: (newer as number | undefined) ?? sampling.maxTokens } };
}

/** @throws LLMRequestError that names the field */
export function readCompletion(body: unknown): ReadCompletion {
  const fields = new Fields(body);
  const model = fields.model();
  const prompts = readTexts("prompt", fields.take("prompt"), INPUTS_MAX);
  const echoes = fields.flag("echo") === true;
  if (echoes && prompts.some((prompt) => typeof prompt !== "string"))
    throw wrong("echo", "a prompt of tokens cannot be echoed; give it as text", echoes);
  const frame = fields.frame();
  const answers = prompts.length * Math.max(frame.choices, fields.bestOf());
  if (answers > ANSWERS_MAX)
    throw wrong(frame.choices > 1 ? "n" : "best_of", `at most ${ANSWERS_MAX} answers to all prompts of a request are allowed`, answers);
  const sampling = fields.sampling();
  return { model, ...frame, echoes, requests: prompts.map((prompt) => ({ prompt, ...sampling })) };
}

/** @throws LLMRequestError that names the field */
export function readEmbedding(body: unknown): ReadEmbedding {
  const fields = new Fields(body);
  const model = fields.model();
  const inputs = readTexts("input", fields.take("input"), INPUTS_MAX);
  const dimensions = fields.optional("dimensions", ...wholeFrom(1, DIMENSIONS_MAX)) as number | undefined;
  const numbers = inputs.length * (dimensions ?? 0);
  if (numbers > EMBEDDED_NUMBERS_MAX)
    throw wrong("dimensions", `at most ${EMBEDDED_NUMBERS_MAX} numbers in all embeddings of a request are allowed`, numbers);
  const format = fields.optional("encoding_format", (value) => value === "float" || value === "base64", '"float" or "base64"');
  return { model, request: { inputs, dimensions }, isBase64: format === "base64" };
}

function readMessages(value: unknown): ChatMessage[] {
  if (!Array.isArray(value) || value.length === 0) throw wrong("messages", "an array with at least one message is needed", value);
  for (const [index, message] of value.entries()) {
    const at = `messages[${index}]`;
    if (!isPlainObject(message)) throw wrong(at, "an object with role and content is needed", message);
    const { role, content } = message as Body;
    if (!ROLES.has(role)) throw wrong(`${at}.role`, `one of ${[...ROLES].join(", ")} is needed`, role);
    const isParts = Array.isArray(content) && content.every((part) => isPlainObject(part) && typeof (part as Body)["type"] === "string");
    // An assistant's message may lack `content`, as it may consist of tool calls alone.
    const mayLack = role === "assistant" && (content === undefined || content === null);
    if (typeof content !== "string" && !isParts && !mayLack)
      throw wrong(`${at}.content`, "a text or an array of parts with a type is needed", content);
  }
  return value as ChatMessage[];
}

/** A text, several, one that is tokens, or several of those. */
function readTexts(name: string, value: unknown, max: number): (string | readonly number[])[] {
  const isOne = typeof value === "string" || isTokens(value);
  const texts = isOne ? [value] : value;
  const isAllowed = Array.isArray(texts) && texts.length > 0 && texts.every((text) => typeof text === "string" || isTokens(text));
  if (!isAllowed) throw wrong(name, "a text, tokens, or an array of those is needed", value);
  if (texts.length > max) throw wrong(name, `at most ${max} texts are allowed`, texts.length);
  return texts as (string | readonly number[])[];
}

function isTokens(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((token) => Number.isSafeInteger(token) && token >= 0);
}
