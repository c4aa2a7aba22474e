/**
 * The fields of a request to OpenAI's API, read one by one: types, ranges, and the rest that goes to the engine as it came. Pure.
 *
 * Used by the readers of chats, completions, embeddings and responses. A mistake names the field, as clients of OpenAI expect it.
 * Each field can be read once; `rest` gives those that are left, which may be the engine's own.
 */
import { describeValue, isPlainObject } from "../../../core/internal.ts";
import type { SamplingOptions } from "../engine.ts";
import { LLMRequestError } from "../llm-errors.ts";

/** Fields that chats and completions share. */
export interface RequestFrame {
  readonly model: string;
  /** Whole answers; more than one are made side by side. */
  readonly choices: number;
  readonly streams: boolean;
  readonly streamsUsage: boolean;
}

export type Body = Readonly<Record<string, unknown>>;
type Check = (value: unknown) => boolean;

/** OpenAI's own limits. */
const STOPS_MAX = 4;
const CHOICES_MAX = 128;

/** The fields of a body that have not been read yet. */
export class Fields {
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
    const streams = this.flag("stream") === true;
    const options = this.object("stream_options");
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

  flag(name: string): boolean | undefined {
    return this.optional(name, isBoolean, "true or false") as boolean | undefined;
  }

  number(name: string, min: number, max: number): number | undefined {
    return this.optional(name, (value) => typeof value === "number" && value >= min && value <= max, `a number from ${min} to ${max}`) as
      | number
      | undefined;
  }

  object(name: string): Body | undefined {
    return this.optional(name, isPlainObject, "an object") as Body | undefined;
  }

  /** All fields that nobody has read. */
  rest(): Body {
    return Object.fromEntries(this.#left);
  }

  /** All that is left is `extra`. */
  sampling(): SamplingOptions {
    const stop = this.optional("stop", isStop, `a text, or up to ${STOPS_MAX} texts,`) as string | string[] | undefined;
    return {
      stop: stop === undefined ? [] : typeof stop === "string" ? [stop] : stop,
      maxTokens: this.optional("max_tokens", ...wholeFrom(1)) as number | undefined,
      temperature: this.number("temperature", 0, 2),
      topP: this.number("top_p", 0, 1),
      presencePenalty: this.number("presence_penalty", -2, 2),
      frequencyPenalty: this.number("frequency_penalty", -2, 2),
      seed: this.optional("seed", Number.isSafeInteger, "a whole number") as number | undefined,
      extra: this.rest(),
    };
  }
}

function isStop(value: unknown): boolean {
  const isText = (one: unknown): boolean => typeof one === "string" && one !== "";
  return isText(value) || (Array.isArray(value) && value.length <= STOPS_MAX && value.every(isText));
}

function isBoolean(value: unknown): boolean {
  return typeof value === "boolean";
}

export function wholeFrom(min: number, max = Number.MAX_SAFE_INTEGER): [check: Check, allowed: string] {
  const upTo = max === Number.MAX_SAFE_INTEGER ? "" : ` to ${max}`;
  return [(value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max, `a whole number from ${min}${upTo}`];
}

export function wrong(param: string, allowed: string, value: unknown): LLMRequestError {
  const received = value === undefined ? "it is missing" : `received ${describeValue(value)}`;
  return LLMRequestError.of(`Invalid ${param}: ${allowed}: ${received}`, {
    param,
    code: value === undefined ? "missing_required_parameter" : "invalid_value",
  });
}
