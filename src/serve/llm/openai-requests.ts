/**
 * Requests of OpenAI's API: from the JSON of a client to what engines get. Pure.
 *
 * Decides what is refused, and by which field: a wrong type, a value out of range, a missing field. Fields that are not named here go to the engine as they came,
 * because engines know more of them than any list (`top_k`, `guided_json`, `tools`).
 */
import { describeValue, isPlainObject } from "../../core/internal.ts";
import type { ChatMessage, ChatRequest, CompletionRequest, EmbedRequest, SamplingOptions } from "./engine.ts";
import { LLMRequestError } from "./llm-errors.ts";

/** Fields that chats and completions share. */
interface RequestFrame {
  readonly model: string;
  /** Whole answers; more than one are made side by side. */
  readonly choices: number;
  readonly streams: boolean;
  readonly streamsUsage: boolean;
}

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

type Body = Readonly<Record<string, unknown>>;
type Check = (value: unknown) => boolean;

const ROLES: ReadonlySet<unknown> = new Set(["system", "developer", "user", "assistant", "tool", "function"]);
/** OpenAI's own limits. */
const STOPS_MAX = 4;
const CHOICES_MAX = 128;
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
  const echoes = fields.optional("echo", isBoolean, "true or false") === true;
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

/** The fields of a body that have not been read yet. */
class Fields {
  readonly #left: Map<string, unknown>;

  constructor(body: unknown) {
    if (!isPlainObject(body)) throw LLMRequestError.of(`The body is no JSON object: received ${describeValue(body)}`);
    // null stands for a field that is not given, as in OpenAI's own API.
    this.#left = new Map(Object.entries(body as Body).filter(([, value]) => value !== null && value !== undefined));
  }

  take(name: string): unknown {
    const value = this.#left.get(name);
    this.#left.delete(name);
    return value;
  }

  optional(name: string, check: Check, allowed: string): unknown {
    const value = this.take(name);
    if (value !== undefined && !check(value)) throw wrong(name, `${allowed} is needed`, value);
    return value;
  }

  model(): string {
    const model = this.take("model");
    if (typeof model !== "string" || model === "") throw wrong("model", "the id of a model is needed", model);
    return model;
  }

  frame(): Omit<RequestFrame, "model"> {
    const streams = this.optional("stream", isBoolean, "true or false") === true;
    const options = this.optional("stream_options", isPlainObject, "an object") as Body | undefined;
    const choices = (this.optional("n", ...wholeFrom(1, CHOICES_MAX)) as number | undefined) ?? 1;
    const usage = options?.["include_usage"];
    if (usage !== undefined && typeof usage !== "boolean") throw wrong("stream_options.include_usage", "true or false is needed", usage);
    return { streams, choices, streamsUsage: streams && usage === true };
  }

  /** Engines that know it make so many answers and give the best of them. The field goes on to them. */
  bestOf(): number {
    const given = this.#left.get("best_of");
    const [isAllowed, allowed] = wholeFrom(1, CHOICES_MAX);
    if (given !== undefined && !isAllowed(given)) throw wrong("best_of", `${allowed} is needed`, given);
    return (given as number | undefined) ?? 1;
  }

  /** All that is left is `extra`. */
  sampling(): SamplingOptions {
    const stop = this.optional("stop", isStop, `a text, or up to ${STOPS_MAX} texts,`) as string | string[] | undefined;
    const number = (name: string, min: number, max: number): number | undefined =>
      this.optional(name, (value) => typeof value === "number" && value >= min && value <= max, `a number from ${min} to ${max}`) as
        | number
        | undefined;
    return {
      stop: stop === undefined ? [] : typeof stop === "string" ? [stop] : stop,
      maxTokens: this.optional("max_tokens", ...wholeFrom(1)) as number | undefined,
      temperature: number("temperature", 0, 2),
      topP: number("top_p", 0, 1),
      presencePenalty: number("presence_penalty", -2, 2),
      frequencyPenalty: number("frequency_penalty", -2, 2),
      seed: this.optional("seed", Number.isSafeInteger, "a whole number") as number | undefined,
      extra: Object.fromEntries(this.#left),
    };
  }
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

function isStop(value: unknown): boolean {
  const isText = (one: unknown): boolean => typeof one === "string" && one !== "";
  return isText(value) || (Array.isArray(value) && value.length <= STOPS_MAX && value.every(isText));
}

function isBoolean(value: unknown): boolean {
  return typeof value === "boolean";
}

function wholeFrom(min: number, max = Number.MAX_SAFE_INTEGER): [check: Check, allowed: string] {
  const upTo = max === Number.MAX_SAFE_INTEGER ? "" : ` to ${max}`;
  return [(value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max, `a whole number from ${min}${upTo}`];
}

function wrong(param: string, allowed: string, value: unknown): LLMRequestError {
  const received = value === undefined ? "it is missing" : `received ${describeValue(value)}`;
  return LLMRequestError.of(`Invalid ${param}: ${allowed}: ${received}`, {
    param,
    code: value === undefined ? "missing_required_parameter" : "invalid_value",
  });
}
