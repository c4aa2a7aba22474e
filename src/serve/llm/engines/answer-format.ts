/**
 * Refuses requests for answers in JSON, for engines that cannot keep a model to a format.
 *
 * An answer that ignores `response_format` looks like one that follows it until a program reads it. Called by engines that run models in the replica, before they begin.
 */
import { isPlainObject } from "../../../core/internal.ts";
import type { SamplingOptions } from "../engine.ts";
import { LLMRequestError } from "../llm-errors.ts";

/** @throws LLMRequestError for a `response_format` other than text */
export function requireTextFormat({ extra }: Pick<SamplingOptions, "extra">): void {
  const format = extra["response_format"];
  if (format === undefined || (isPlainObject(format) && (format as { type?: unknown }).type === "text")) return;
  throw LLMRequestError.of("Invalid response_format: this model answers in text, and cannot be kept to a format", {
    param: "response_format",
    code: "unsupported_parameter",
  });
}
