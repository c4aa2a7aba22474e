/** `data.llm`: datasets and language models. */
export { type AnsweredRow, httpProcessor, type HttpProcessorOptions, type LlmRequest } from "./http-processor.ts";
export type { LlmAnswer } from "./http-step.ts";
