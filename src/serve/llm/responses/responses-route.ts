/**
 * The route `/v1/responses`: calls the model's chat, and answers whole or with events.
 *
 * A stream's head waits for the first token, so an engine's refusal becomes a status. A later failure is the event `response.failed`. Called by the ingress inside of a
 * request, so a client that leaves ends the call.
 */
import { RequestCancelledError } from "../../errors.ts";
import type { ChatRequest, Token } from "../engine.ts";
import { eventStream } from "../openai/event-stream.ts";
import type { OpenAIError } from "../llm-errors.ts";
import { ResponsesAnswer } from "./responses-answer.ts";
import { readResponses } from "./responses-requests.ts";

interface ResponsesPorts {
  readonly model: string;
  chat(request: ChatRequest): AsyncIterableIterator<Token>;
  /** Gives an error the form that clients see. */
  shown(error: unknown): OpenAIError;
}

/** @throws LLMRequestError that names the field; the engine's error before its first token */
export async function answerResponses(body: unknown, { model, chat, shown }: ResponsesPorts): Promise<Response> {
  const { request, streams, repeated } = readResponses(body);
  const answer = new ResponsesAnswer(model, repeated);
  const tokens = chat(request);
  if (!streams) {
    for await (const token of tokens) {
      answer.add(token);
      // A whole answer needs no events.
      answer.takeEvents();
    }
    return Response.json(answer.end());
  }
  const first = await tokens.next();
  return eventStream(eventsOf(answer, tokens, { first, shown }), () => void tokens.return?.()?.catch(() => {}));
}

async function* eventsOf(
  answer: ResponsesAnswer,
  tokens: AsyncIterableIterator<Token>,
  { first, shown }: { first: IteratorResult<Token, unknown>; shown: ResponsesPorts["shown"] },
): AsyncGenerator<string, void, undefined> {
  yield textOf(answer);
  try {
    for (let next = first; next.done !== true; next = await tokens.next()) {
      answer.add(next.value);
      const text = textOf(answer);
      if (text !== "") yield text;
    }
    answer.end();
  } catch (error) {
    if (error instanceof RequestCancelledError) throw error;
    const { message } = shown(error).body.error;
    answer.fail("server_error", message);
  }
  yield textOf(answer);
}

function textOf(answer: ResponsesAnswer): string {
  return answer
    .takeEvents()
    .map((event) => `event: ${String(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`)
    .join("");
}
