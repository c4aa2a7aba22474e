import { expect, test } from "vitest";
import type { Token } from "./engine.ts";
import { limitedTokens } from "./token-limits.ts";

async function textOf(given: readonly Token[], limits: { stop?: string[]; maxTokens?: number }): Promise<unknown[]> {
  let [text, reason, hasEnded] = ["", "none", false];
  const engine = async function* (): AsyncGenerator<Token> {
    try {
      yield* given;
    } finally {
      hasEnded = true;
    }
  };
  for await (const token of limitedTokens(engine(), { stop: limits.stop ?? [], maxTokens: limits.maxTokens })) {
    text += token.text ?? "";
    reason = token.finishReason ?? reason;
  }
  return [text, reason, hasEnded];
}

const words: readonly Token[] = [{ text: "one " }, { text: "two " }, { text: "three" }, { finishReason: "stop" }];

test.each([
  [{}, "one two three", "stop"],
  [{ maxTokens: 2 }, "one two ", "length"],
  [{ maxTokens: 3 }, "one two three", "stop"],
  [{ stop: ["two"] }, "one ", "stop"],
  [{ stop: ["e t"] }, "on", "stop"],
  [{ stop: ["threes"] }, "one two three", "stop"],
  [{ stop: ["wo thr"], maxTokens: 2 }, "one two ", "length"],
])("an engine that knows no limits, with %j", async (limits, text, reason) => {
  expect(await textOf(words, limits)).toEqual([text, reason, true]);
});

test("text that waits at the end of an engine without a last token comes through, and calls of tools count as tokens", async () => {
  expect(await textOf([{ text: "a st" }], { stop: ["stop"] })).toEqual(["a st", "none", true]);
  expect(await textOf([{ delta: { tool_calls: [] } }, { text: "x" }], { maxTokens: 1 })).toEqual(["", "length", true]);
});
