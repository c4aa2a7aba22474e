/** Ends the tokens of a user's engine at a stop sequence or behind `max_tokens`, so that engines need not. Pure. */
import type { SamplingOptions, Token } from "./engine.ts";
import { StopSequences } from "./stop-sequences.ts";

/** An engine that ends by itself is left as it is: its last token comes through. */
export async function* limitedTokens(
  tokens: AsyncIterable<Token>,
  { stop, maxTokens = Number.POSITIVE_INFINITY }: Pick<SamplingOptions, "stop" | "maxTokens">,
): AsyncGenerator<Token, void, undefined> {
  const stops = new StopSequences(stop);
  let count = 0;
  for await (const token of tokens) {
    const { text = "", delta, finishReason } = token;
    if (text !== "" || delta !== undefined) count += 1;
    if (count > maxTokens) {
      yield { text: stops.rest(), finishReason: "length" };
      return;
    }
    const next = stops.next(text);
    if (next.isEnd) {
      yield { ...token, text: next.text, finishReason: "stop" };
      return;
    }
    // Text that may begin a stop sequence waits for the next token.
    yield { ...token, text: finishReason === undefined ? next.text : next.text + stops.rest() };
  }
  const rest = stops.rest();
  if (rest !== "") yield { text: rest };
}
