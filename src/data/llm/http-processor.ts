/**
 * `data.llm.httpProcessor`: the rows of a dataset, answered by a language model behind an OpenAI-compatible server.
 *
 * Options are checked in the user's call, before anything runs.
 * `http-step.ts` answers rows in the actors of a pool, which share the limits evenly.
 */
import { count, custom, describeValue, isPlainObject, number, readOptions, text } from "../../core/internal.ts";
import { Dataset } from "../dataset.ts";
import type { AnyRow } from "../row-types.ts";
import { HttpStep, type HttpStepOptions, type LlmAnswer } from "./http-step.ts";
import { ROWS_PER_REQUEST_IN_FLIGHT } from "./limits.ts";

/** A request of OpenAI's API, such as `{ messages, temperature }`. */
export type LlmRequest = Readonly<Record<string, unknown>>;

/** The options of `httpProcessor`. */
export interface HttpProcessorOptions<R extends AnyRow, U extends AnyRow, E extends string | false = "error"> {
  /** The address of the method, such as `https://api.openai.com/v1/chat/completions`, `…/v1/completions` or `…/v1/embeddings`. */
  url: string;
  /** The model of each request that names none. */
  model?: string | undefined;
  /** The key, sent as `Authorization: Bearer`. No plan, statistic or error shows it. */
  apiKey?: string | undefined;
  /** In place of `apiKey`: the environment variable of the workers that has the key. */
  apiKeyEnv?: string | undefined;
  /** Further headers of each request. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Makes the request of a row: a text, which is the message of a user, or a body of the API. */
  preprocess: (row: R) => string | LlmRequest | Promise<string | LlmRequest>;
  /** Makes the row of the answer. */
  postprocess: (row: R, answer: LlmAnswer) => U | Promise<U>;
  /** Requests in flight of each worker. Default: 32. */
  concurrency?: number | undefined;
  /** Actors that send requests. One is enough for thousands of requests a second. Default: 1. */
  workers?: number | undefined;
  /** Requests a minute of all workers together. Default: no limit. */
  requestsPerMinute?: number | undefined;
  /** Tokens a minute of all workers together, of requests and answers. Default: no limit. */
  tokensPerMinute?: number | undefined;
  /** Repeated requests of a row, after a busy or broken server. Default: 8, which outlast a limit of a minute. */
  maxRetries?: number | undefined;
  /** Longest wait for an answer, in milliseconds. Default: 120,000. */
  timeoutMs?: number | undefined;
  /** The column with the error of rows that got no answer, and null for others. `false`: such a row ends the run. Default: `"error"`. */
  errorColumn?: E | undefined;
  /** The prices of a million tokens, for `stats()`. Default: none. */
  price?: { readonly promptTokens: number; readonly completionTokens: number } | undefined;
}

/** The rows of an answer: those of failures have the columns of the input. */
export type AnsweredRow<R, U, E> = E extends string
  ? { [P in keyof U]: P extends keyof R ? U[P] : U[P] | null } & { [P in E]: string | null }
  : U;

const NEVER_EMPTY = text(undefined);
const OPTIONS = {
  url: custom<string | undefined>("the address of an http or https server is needed", undefined, (value) => {
    if (typeof value !== "string") return "wrong type";
    return /^https?:$/.test(URL.parse(value)?.protocol ?? "") ? "ok" : "out of range";
  }),
  model: NEVER_EMPTY,
  apiKey: secret(),
  apiKeyEnv: NEVER_EMPTY,
  headers: custom<Readonly<Record<string, string>>>("an object of texts is needed", {}, (value) =>
    isPlainObject(value) && Object.values(value).every((one) => typeof one === "string") ? "ok" : "wrong type",
  ),
  preprocess: functionOption(),
  postprocess: functionOption(),
  concurrency: count({ min: 1, max: 10_000 }, 32),
  workers: count({ min: 1 }, 1),
  requestsPerMinute: rate(),
  tokensPerMinute: rate(),
  maxRetries: count({ min: 0 }, 8),
  timeoutMs: count({ min: 1, max: 2 ** 31 - 1 }, 120_000),
  errorColumn: custom<string | false>("the name of a column or false is needed", "error", (value) =>
    value === false || (typeof value === "string" && value !== "") ? "ok" : "wrong type",
  ),
  price: custom<HttpProcessorOptions<AnyRow, AnyRow>["price"]>(
    "an object { promptTokens, completionTokens } of prices from 0 is needed",
    undefined,
    (value) =>
      isPlainObject(value) && Object.keys(value).length === 2 && [value["promptTokens"], value["completionTokens"]].every(isPrice)
        ? "ok"
        : "wrong type",
  ),
};

function secret(): ReturnType<typeof custom<string | undefined>> {
  // The message of a wrong type shows the value, which for a text would be the key.
  return custom<string | undefined>("a text is needed", undefined, (value) =>
    typeof value === "string" && value !== "" ? "ok" : "wrong type",
  );
}

function functionOption(): ReturnType<typeof custom<((...args: never[]) => unknown) | undefined>> {
  return custom<((...args: never[]) => unknown) | undefined>("a function is needed", undefined, (value) =>
    typeof value === "function" ? "ok" : "wrong type",
  );
}

function rate(): ReturnType<typeof number<undefined>> {
  return number("a number above 0 is needed", undefined, (value) => Number.isFinite(value) && value > 0);
}

function isPrice(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

/** Names of these options in Ray and in clients of OpenAI. */
const OTHER_NAMES = {
  qps: "it is requestsPerMinute",
  batchSize: "it is concurrency, the requests in flight",
  baseUrl: "it is url, with the path of the method",
  base_url: "it is url, with the path of the method",
  api_key: "it is apiKey",
  maxTokens: "it is max_tokens of the request that preprocess makes",
  max_retries: "it is maxRetries",
};

/**
 * Makes a function from datasets to datasets whose rows a language model answers, through any OpenAI-compatible server.
 *
 * @throws TypeError, RangeError for wrong options. When it runs: DataError for a refusal of the key, the account or the address; of a row without an answer with
 * `errorColumn: false`
 * @example
 * const classify = data.llm.httpProcessor({
 *   url: "https://api.openai.com/v1/chat/completions",
 *   model: "gpt-5-mini",
 *   apiKeyEnv: "OPENAI_API_KEY",
 *   requestsPerMinute: 500,
 *   preprocess: (row: { text: string }) => `Is this a question? Answer yes or no.\n${row.text}`,
 *   postprocess: (row, answer) => ({ ...row, isQuestion: answer.text === "yes" }),
 * });
 * const rows = classify(texts);
 */
export function httpProcessor<R extends AnyRow, U extends AnyRow, const E extends string | false = "error">(
  options: HttpProcessorOptions<R, U, E>,
): (dataset: Dataset<R>) => Dataset<AnsweredRow<R, U, E> & AnyRow> {
  const { url, preprocess, postprocess, workers, concurrency, requestsPerMinute, tokensPerMinute, errorColumn, ...others } = readOptions(
    options as unknown as Record<string, unknown>,
    { of: "httpProcessor", otherNames: OTHER_NAMES, options: OPTIONS },
  );
  if (url === undefined || preprocess === undefined || postprocess === undefined)
    throw new TypeError("Cannot call httpProcessor: it takes the options url, preprocess and postprocess: received not all of them");
  if (others.apiKey !== undefined && others.apiKeyEnv !== undefined)
    throw new TypeError("Cannot call httpProcessor: it takes one of the options apiKey and apiKeyEnv: received both");
  const { maxRetries, timeoutMs, price, ...named } = others;
  const settings: HttpStepOptions = {
    ...named,
    service: { url, maxRetries, timeoutMs, price },
    concurrency,
    requestsPerMinute: requestsPerMinute && requestsPerMinute / workers,
    tokensPerMinute: tokensPerMinute && tokensPerMinute / workers,
    errorColumn: errorColumn === false ? undefined : errorColumn,
  };
  return (dataset) => {
    if (!((dataset as unknown) instanceof Dataset))
      throw new TypeError(`Cannot call httpProcessor's function: it takes a Dataset: received ${describeValue(dataset)}`);
    return (dataset as Dataset<any>).mapBatches(
      HttpStep as never,
      {
        constructorArgs: [settings, preprocess, postprocess],
        batchFormat: "rows",
        batchSize: concurrency * ROWS_PER_REQUEST_IN_FLIGHT,
        concurrency: workers,
        numCpus: 0,
      } as never,
    ) as never;
  };
}
