/**
 * The deployment that speaks OpenAI's API: turns a request into calls of `LLMServer`, and tokens into a body or server-sent events.
 *
 * Decides routes and statuses. A stream's head waits for the first token, so an engine's refusal becomes a status. A later failure ends the stream with an event
 * that has the error. Every call is made inside the request, so a client that leaves ends all calls.
 */
import { randomUUID } from "node:crypto";
import { Fifo } from "../../../core/internal.ts";
import { RequestCancelledError } from "../../errors.ts";
import type { HandleOf } from "../../handle/handle-types.ts";
import { currentRequest } from "../../replica/context/request-context.ts";
import type { Token } from "../engine.ts";
import { eventStream } from "./event-stream.ts";
import { errorForClient, LLMRequestError, type OpenAIError, openAIError } from "../llm-errors.ts";
import type { LLMServer } from "../llm-server.ts";
import { type AccessRules, accessError, corsHeaders, preflightAnswer } from "./openai-access.ts";
import { readChat, readCompletion, readEmbedding } from "./openai-requests.ts";
import {
  type AnswerHead,
  type AnswerKind,
  Choice,
  embeddingAnswer,
  endEvent,
  tokenEvent,
  usageEvent,
  wholeAnswer,
} from "./openai-responses.ts";
import { answerResponses } from "../responses/responses-route.ts";

/** Facts about a model that the ingress needs. */
export interface ServedModel {
  readonly id: string;
  readonly ownedBy: string;
  /** The status for one request too many. */
  readonly overloaded: number;
  readonly retryAfterMs: number | undefined;
}

type ServerHandle = HandleOf<typeof LLMServer>;
interface Found extends ServedModel {
  readonly server: ServerHandle;
}

/** A choice and the call that generates it. Calls of one request begin as its earlier calls end. */
class Generation {
  readonly choice: Choice;
  readonly #call: () => AsyncIterableIterator<Token>;
  #tokens: AsyncIterableIterator<Token> | undefined;

  constructor(choice: Choice, call: () => AsyncIterableIterator<Token>) {
    this.choice = choice;
    this.#call = call;
  }

  /** The choice's tokens; the first access begins the generation. */
  get tokens(): AsyncIterableIterator<Token> {
    this.#tokens ??= this.#call();
    return this.#tokens;
  }

  leave(): void {
    void this.#tokens?.return?.()?.catch(() => {});
  }
}

interface Plan {
  readonly found: Found;
  readonly head: AnswerHead;
  readonly generations: readonly Generation[];
  readonly streams: boolean;
  readonly streamsUsage: boolean;
  /** Gives the prompt that a completion puts before its answer; undefined where the request asks for no echo. */
  readonly echo: ((choice: Choice) => string) | undefined;
}

/** Larger than any context; images in messages count too. */
const BODY_CHARACTERS_MAX = 64 * 1024 * 1024;
/** The same times the number of answers: each call carries its prompt, and an echo repeats it. */
const CARRIED_CHARACTERS_MAX = 4 * BODY_CHARACTERS_MAX;
/** Calls of one request at a time: enough to fill an engine's batch, and few beside those of other clients. */
const CALLS_AT_A_TIME = 64;

export class OpenAIIngress {
  readonly #models: ReadonlyMap<string, Found>;
  readonly #access: AccessRules;
  readonly #created = Math.floor(Date.now() / 1000);

  constructor(
    models: readonly ServedModel[],
    servers: readonly ServerHandle[],
    access: AccessRules = { keyHashes: undefined, corsOrigins: [] },
  ) {
    this.#access = access;
    this.#models = new Map(models.map((model, index) => [model.id, { ...model, server: servers[index] as ServerHandle }]));
  }

  async fetch(request: Request): Promise<Response> {
    const preflight = preflightAnswer(this.#access, request);
    if (preflight !== undefined) return preflight;
    const response = await this.#answer(request);
    for (const [name, value] of Object.entries(corsHeaders(this.#access, request) ?? {})) response.headers.set(name, value);
    return response;
  }

  async #answer(request: Request): Promise<Response> {
    let found: Found | undefined;
    try {
      const { pathname } = new URL(request.url);
      const path = pathname.length > 1 ? pathname.replace(/\/+$/, "") : pathname;
      if (path === "/health") return Response.json({ status: "ok" });
      const refusal = accessError(this.#access, request);
      if (refusal !== undefined) return failed(refusal);
      if (path === "/v1/models" || path.startsWith("/v1/models/")) return this.#list(request, path);
      const make = this.#routes[path];
      if (make === undefined) return failed(openAIError(404, `There is no ${request.method} ${path}`, { code: "not_found" }));
      if (request.method !== "POST") return notAllowed("POST", request);
      const { body, size } = await bodyOf(request);
      found = this.#find(body);
      return await make(found, body, size);
    } catch (error) {
      if (error instanceof RequestCancelledError || request.signal.aborted) throw error;
      const { overloaded = 503, retryAfterMs } = found ?? {};
      return failed(errorForClient(error, overloaded, currentRequest()?.requestId ?? ""), retryAfterMs);
    }
  }

  readonly #routes: Readonly<Record<string, (found: Found, body: unknown, size: number) => Promise<Response>>> = {
    "/v1/chat/completions": async (found, body, size) => {
      const { choices, request, ...frame } = readChat(body);
      requireCarried(size, choices);
      const { server } = found;
      const generations = Array.from(
        { length: choices },
        (_, index) => new Generation(new Choice(index), () => server.chat.remote(seeded(request, index))),
      );
      return answer({ found, head: headOf("chat", found.id), generations, echo: undefined, ...frame });
    },
    "/v1/completions": async (found, body, size) => {
      const { choices, requests, echoes, ...frame } = readCompletion(body);
      requireCarried(size, choices);
      const { server } = found;
      const generations = requests.flatMap((request, prompt) =>
        Array.from({ length: choices }, (_, index) => {
          const choice = new Choice(prompt * choices + index, prompt, echoes ? (request.prompt as string) : "");
          return new Generation(choice, () => server.complete.remote(seeded(request, index)));
        }),
      );
      const echo = echoes ? ({ prompt }: Choice): string => requests[prompt]?.prompt as string : undefined;
      return answer({ found, head: headOf("completion", found.id), generations, echo, ...frame });
    },
    "/v1/responses": (found, body) => {
      const { id, server, overloaded } = found;
      const shown = (error: unknown): OpenAIError => errorForClient(error, overloaded, currentRequest()?.requestId ?? "");
      return answerResponses(body, { model: id, chat: (request) => server.chat.remote(request), shown });
    },
    "/v1/embeddings": async (found, body) => {
      const { request, isBase64 } = readEmbedding(body);
      return Response.json(embeddingAnswer(found.id, await found.server.embed.remote(request), isBase64));
    },
  };

  #list(request: Request, path: string): Response {
    if (request.method !== "GET" && request.method !== "HEAD") return notAllowed("GET, HEAD", request);
    const entry = ({ id, ownedBy }: ServedModel): object => ({ id, object: "model", created: this.#created, owned_by: ownedBy });
    if (path === "/v1/models") return Response.json({ object: "list", data: [...this.#models.values()].map(entry) });
    // An id may have slashes, written as they are or as %2F.
    const id = decoded(path.slice("/v1/models/".length));
    const found = this.#models.get(id);
    return found === undefined ? failed(unknownModel(id)) : Response.json(entry(found));
  }

  /** @throws LLMRequestError for a body without a model, or with one that is not here */
  #find(body: unknown): Found {
    const model = (body as { model?: unknown } | null)?.model;
    if (typeof model !== "string" || model === "")
      throw LLMRequestError.of("Invalid model: the id of a model is needed: it is missing or no text", {
        param: "model",
        code: "missing_required_parameter",
      });
    const found = this.#models.get(model);
    if (found !== undefined) return found;
    const { message, code } = unknownModel(model).body.error;
    throw LLMRequestError.of(message, { status: 404, param: "model", ...(code !== null && { code }) });
  }
}

async function answer(plan: Plan): Promise<Response> {
  const { generations, head, streams } = plan;
  let isOver = false;
  try {
    if (streams) return await streamed(plan);
    const waiting = generations.values();
    // Each lane takes the next generation that none has begun.
    const lanes = Array.from({ length: Math.min(CALLS_AT_A_TIME, generations.length) }, async () => {
      for (const generation of waiting) {
        if (isOver) return;
        for await (const token of generation.tokens) generation.choice.add(token);
      }
    });
    await Promise.all(lanes);
    return Response.json(
      wholeAnswer(
        head,
        generations.map(({ choice }) => choice),
      ),
    );
  } catch (error) {
    isOver = true;
    for (const generation of generations) generation.leave();
    throw error;
  }
}

/** Streams a response. @throws the engine's error before its first token */
async function streamed(plan: Plan): Promise<Response> {
  const first = await Promise.all(plan.generations.slice(0, CALLS_AT_A_TIME).map(({ tokens }) => tokens.next()));
  return eventStream(eventsOf(plan, first), () => {
    for (const generation of plan.generations) generation.leave();
  });
}

async function* eventsOf(plan: Plan, first: readonly IteratorResult<Token, unknown>[]): AsyncGenerator<string, void, undefined> {
  for await (const data of dataOf(plan, first)) yield `data: ${data}\n\n`;
}

/** The data of each event. */
async function* dataOf(plan: Plan, first: readonly IteratorResult<Token, unknown>[]): AsyncGenerator<string, void, undefined> {
  const { found, head, generations, streamsUsage, echo } = plan;
  try {
    yield* merged(generations.map((generation, index) => choiceEvents(plan, generation, first[index], echo)));
    const choices = generations.map(({ choice }) => choice);
    if (streamsUsage) yield JSON.stringify(usageEvent(head, choices));
    yield "[DONE]";
  } catch (error) {
    for (const generation of generations) generation.leave();
    if (error instanceof RequestCancelledError) throw error;
    yield JSON.stringify(errorForClient(error, found.overloaded, currentRequest()?.requestId ?? "").body);
  }
}

async function* choiceEvents(
  { head }: Plan,
  generation: Generation,
  first: IteratorResult<Token, unknown> | undefined,
  echo: Plan["echo"],
): AsyncGenerator<string, void, undefined> {
  const { choice, tokens } = generation;
  let isFirst = true;
  const event = (token: Token): string => {
    const text = JSON.stringify(tokenEvent(head, choice.index, token, isFirst));
    isFirst = false;
    return text;
  };
  if (echo !== undefined) yield event({ text: echo(choice) });
  for (let next = first ?? (await tokens.next()); next.done !== true; next = await tokens.next()) {
    choice.add(next.value);
    if (hasContent(next.value)) yield event(next.value);
  }
  if (isFirst) yield event({ text: "" });
  yield JSON.stringify(endEvent(head, choice));
}

function hasContent({ text, delta, logprobs }: Token): boolean {
  return (text !== undefined && text !== "") || delta !== undefined || logprobs !== undefined;
}

/** Items of all sources in the order in which they come. So many sources at a time are read, each no further than its item was taken. */
async function* merged(sources: readonly AsyncGenerator<string, void, undefined>[]): AsyncGenerator<string, void, undefined> {
  type Source = AsyncGenerator<string, void, undefined>;
  const waiting = sources.values();
  const arrived = new Fifo<() => { source: Source; result: IteratorResult<string, void> }>();
  let wake: (() => void) | undefined;
  let reading = 0;
  const tell = (outcome: () => { source: Source; result: IteratorResult<string, void> }): void => {
    arrived.push(outcome);
    wake?.();
  };
  const step = (source: Source | undefined): void => {
    if (source === undefined) return;
    reading += 1;
    source.next().then(
      (result) => tell(() => ({ source, result })),
      (error: unknown) =>
        tell(() => {
          throw error;
        }),
    );
  };
  for (let index = 0; index < CALLS_AT_A_TIME; index += 1) step(waiting.next().value);
  while (reading > 0) {
    if (arrived.size === 0) await new Promise<void>((resolve) => (wake = resolve));
    reading -= 1;
    const { source, result } = (arrived.shift() as () => { source: Source; result: IteratorResult<string, void> })();
    if (result.done === true) step(waiting.next().value);
    else {
      yield result.value;
      step(source);
    }
  }
}

/** @throws LLMRequestError for a body whose copies for all answers are too large */
function requireCarried(size: number, choices: number): void {
  if (size * choices <= CARRIED_CHARACTERS_MAX) return;
  throw LLMRequestError.of(
    `Invalid n: the characters of a request times n are at most ${CARRIED_CHARACTERS_MAX}: received ${size} characters and n ${choices}`,
    { status: 413, param: "n", code: "request_too_large" },
  );
}

function headOf(kind: AnswerKind, model: string): AnswerHead {
  const prefix = kind === "chat" ? "chatcmpl" : "cmpl";
  return { kind, model, id: `${prefix}-${randomUUID().replaceAll("-", "")}`, created: Math.floor(Date.now() / 1000) };
}

/** Choices of one request are to differ, also where it has a seed. */
function seeded<R extends { readonly seed: number | undefined }>(request: R, index: number): R {
  return request.seed === undefined || index === 0 ? request : { ...request, seed: request.seed + index };
}

async function bodyOf(request: Request): Promise<{ body: unknown; size: number }> {
  const text = await request.text();
  if (text.length > BODY_CHARACTERS_MAX)
    throw LLMRequestError.of(`The body has more than ${BODY_CHARACTERS_MAX} characters`, { status: 413, code: "body_too_large" });
  try {
    return { body: JSON.parse(text) as unknown, size: text.length };
  } catch {
    throw LLMRequestError.of("The body is no JSON", { code: "invalid_json" });
  }
}

function unknownModel(id: string): OpenAIError {
  return openAIError(404, `The model ${JSON.stringify(id.slice(0, 200))} does not exist`, { param: "model", code: "model_not_found" });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function notAllowed(allow: string, request: Request): Response {
  const { body } = openAIError(405, `${request.method} is not allowed here, but ${allow}`, { code: "method_not_allowed" });
  return Response.json(body, { status: 405, headers: { allow } });
}

function failed({ status, body }: OpenAIError, retryAfterMs?: number): Response {
  const isLater = retryAfterMs !== undefined && (status === 429 || status === 503);
  return Response.json(body, { status, headers: isLater ? { "retry-after": String(Math.ceil(retryAfterMs / 1000)) } : {} });
}
