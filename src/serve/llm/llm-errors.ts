/** Errors of models: how a client is told in OpenAI's form, whatever threw them. */
import { ShoalError } from "../../core/index.ts";
import { describeValue, registerErrorClass } from "../../core/internal.ts";

/** The form of all errors of OpenAI's API. */
export interface OpenAIError {
  readonly status: number;
  readonly body: {
    readonly error: { readonly message: string; readonly type: string; readonly param: string | null; readonly code: string | null };
  };
}

interface LLMRequestErrorDetails {
  /** Default: 400. */
  readonly status?: number;
  /** The field of the request that is wrong. */
  readonly param?: string;
  /** A word for programs, such as "model_not_found". */
  readonly code?: string;
}

/** An engine throws it for a request that it cannot answer: the client sees its message, its status and the field. */
export class LLMRequestError extends ShoalError {
  static override readonly code = "LLM_REQUEST";

  static of(message: string, details: LLMRequestErrorDetails = {}): LLMRequestError {
    return new LLMRequestError(message, { reason: message, details: { ...details } });
  }
}

/** An engine could not be loaded, or the server behind it failed. */
export class LLMEngineError extends ShoalError {
  static override readonly code = "LLM_ENGINE";
}

for (const errorClass of [LLMRequestError, LLMEngineError]) registerErrorClass(errorClass);

export function openAIError(status: number, message: string, { param, code }: { param?: string; code?: string } = {}): OpenAIError {
  const type = TYPES[status] ?? (status < 500 ? "invalid_request_error" : "server_error");
  return { status, body: { error: { message, type, param: param ?? null, code: code ?? null } } };
}

const TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  429: "rate_limit_error",
  503: "service_unavailable_error",
};

/** How many causes deep an error of another process may lie. */
const CAUSES_MAX = 8;

/** @param overloaded the status for one request too many */
export function errorForClient(error: unknown, overloaded: number, requestId: string): OpenAIError {
  let cause = error as { code?: unknown; message?: unknown; cause?: unknown; details?: LLMRequestErrorDetails } | null | undefined;
  for (let depth = 0; depth < CAUSES_MAX && typeof cause === "object" && cause !== null; depth += 1) {
    if (cause instanceof LLMRequestError) {
      const { status = 400, param, code } = (cause.details ?? {}) as LLMRequestErrorDetails;
      return openAIError(status, cause.message, { ...(param !== undefined && { param }), ...(code !== undefined && { code }) });
    }
    if (cause.code === "BACK_PRESSURE")
      return openAIError(overloaded, "The model has too many requests. Try again later.", { code: "overloaded" });
    if (cause.code === "DEPLOYMENT_UNAVAILABLE") return openAIError(503, "The model is not available.", { code: "model_unavailable" });
    if (cause.code === "TASK_TIMEOUT") return openAIError(504, "The request took too long.", { code: "timeout" });
    if (cause.code === "LLM_ENGINE") return openAIError(502, "The model's engine failed.", { code: "engine_failed" });
    cause = cause.cause as typeof cause;
  }
  // The error's text may reveal internals, so it goes to the log and not to the client.
  console.error(`Request ${requestId} failed:`, error instanceof Error ? error : describeValue(error));
  return openAIError(500, `The model failed. The log has the reason under request ${requestId}.`, { code: "internal_error" });
}
