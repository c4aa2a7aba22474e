/** `serve.llm`: models of language behind OpenAI's API. */
export type {
  ChatMessage,
  ChatRequest,
  CompletionRequest,
  ContentPart,
  Embedding,
  EmbedRequest,
  FinishReason,
  LLMEngine,
  SamplingOptions,
  Token,
  Usage,
} from "./engine.ts";
export { type BuiltInEngine, deterministic, type EngineSource, nodeLlamaCpp, transformersJs, upstream, vllm } from "./engine-source.ts";
export type { DeterministicOptions } from "./engines/deterministic.ts";
export type { NodeLlamaCppOptions } from "./engines/node-llama-cpp.ts";
export type { TransformersJsOptions } from "./engines/transformers-js.ts";
export type { UpstreamOptions } from "./engines/upstream.ts";
export type { VllmOptions } from "./engines/vllm.ts";
export { LLMEngineError, LLMRequestError } from "./llm-errors.ts";
export { LLMServer } from "./llm-server.ts";
export { buildOpenAIApp, type ModelOptions, type OpenAIAppOptions } from "./openai/openai-app.ts";
export { OpenAIIngress } from "./openai/openai-ingress.ts";
