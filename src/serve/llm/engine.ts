/**
 * The interface of engines. An engine turns messages, a prompt or texts into tokens or vectors. `LLMServer` runs one engine in each replica.
 *
 * An engine gets requests that have been checked, and a signal that aborts when the client has gone; the engine stops then. The engine ignores fields that it does not
 * understand or refuses them with `LLMRequestError`, which the client sees as an error of OpenAI's form.
 */

/** A part of a message: text, or what else OpenAI's API knows, such as `image_url`. */
export interface ContentPart {
  readonly type: string;
  readonly text?: string;
  readonly [field: string]: unknown;
}

export interface ChatMessage {
  readonly role: "system" | "developer" | "user" | "assistant" | "tool" | "function";
  readonly content?: string | readonly ContentPart[] | null;
  readonly [field: string]: unknown;
}

/** Sampling options of chat and completion requests. */
export interface SamplingOptions {
  readonly maxTokens: number | undefined;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly stop: readonly string[];
  readonly seed: number | undefined;
  readonly presencePenalty: number | undefined;
  readonly frequencyPenalty: number | undefined;
  /** All other fields of the request as the client sent them: `tools`, `response_format`, `top_k` and what else an engine may know. */
  readonly extra: Readonly<Record<string, unknown>>;
}

export interface ChatRequest extends SamplingOptions {
  readonly messages: readonly ChatMessage[];
}

export interface CompletionRequest extends SamplingOptions {
  readonly prompt: string | readonly number[];
}

export interface EmbedRequest {
  /** Texts, or texts that are tokens already. */
  readonly inputs: readonly (string | readonly number[])[];
  readonly dimensions: number | undefined;
}

/** Why an answer ended; "stop" is its natural end or a stop sequence. */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter" | "function_call";

export interface Usage {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** A piece of an answer: usually one token. */
export interface Token {
  readonly text?: string;
  /** Other fields of OpenAI's `delta`, such as `tool_calls` or `reasoning_content`. */
  readonly delta?: Readonly<Record<string, unknown>>;
  readonly logprobs?: unknown;
  /** In the last token. */
  readonly finishReason?: FinishReason;
  /** In any token; the last one counts. Without it tokens are counted as they come. */
  readonly usage?: Usage;
}

export interface Embedding {
  readonly vector: readonly number[];
  readonly promptTokens: number;
}

/** Methods of an engine. A request that needs a missing method is refused with an error that names the missing feature. */
export interface LLMEngine {
  /** The names under which it has models; undefined where it cannot say. Asked once, before the deployment counts as running. */
  models?(signal: AbortSignal): PromiseLike<readonly string[] | undefined> | readonly string[] | undefined;
  chat?(request: ChatRequest, signal: AbortSignal): AsyncIterable<Token>;
  complete?(request: CompletionRequest, signal: AbortSignal): AsyncIterable<Token>;
  /** Gives an embedding for each input, in the order of the inputs. A call may join the inputs of several requests. */
  embed?(request: EmbedRequest, signal: AbortSignal): AsyncIterable<Embedding>;
  [Symbol.asyncDispose]?(): PromiseLike<void>;
}
