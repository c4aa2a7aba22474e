import { expect, test } from "vitest";
import { LLMRequestError } from "../llm-errors.ts";
import { requireTextFormat } from "./answer-format.ts";

test("text and no format pass, all others are refused with the field", () => {
  for (const extra of [{}, { response_format: { type: "text" } }, { tools: [] }]) requireTextFormat({ extra });
  for (const response_format of [{ type: "json_object" }, { type: "json_schema", json_schema: {} }, "json"])
    expect(() => requireTextFormat({ extra: { response_format } })).toThrow(LLMRequestError);
});
