/**
 * Asks a server of notices one question. Time and the size of the answer have limits. Redirects are not followed.
 */
import { messageOf } from "../../../runtime/base/texts/describe.ts";
import { ShoalError } from "../../../runtime/base/errors.ts";
import { NOTICE_ANSWERS_WITHIN_MS, NOTICE_BYTES_MAX } from "./limits.ts";

interface NoticeAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  /** The server's clock where the answer has it, in milliseconds since 1970. */
  readonly nowMs: number;
}

interface Question {
  readonly method?: "GET" | "PUT";
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** @throws ShoalError without an answer, and for one that is too long */
export async function ask(url: string, { method = "GET", headers = {}, signal }: Question): Promise<NoticeAnswer> {
  const timeout = AbortSignal.timeout(NOTICE_ANSWERS_WITHIN_MS);
  try {
    const response = await fetch(url, { method, headers, redirect: "manual", signal: AbortSignal.any([signal, timeout]) });
    const text = await textOf(response);
    const saidMs = Date.parse(response.headers.get("date") ?? "");
    return { status: response.status, text, headers: response.headers, nowMs: Number.isFinite(saidMs) ? saidMs : Date.now() };
  } catch (error) {
    const cause = (error as Error).cause ?? error;
    const reason = timeout.aborted ? `no answer within ${NOTICE_ANSWERS_WITHIN_MS / 1000} s` : messageOf(cause);
    throw new ShoalError(`Cannot ask ${url} whether this machine goes away: ${reason}.`, { reason, cause: error });
  }
}

async function textOf(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.length;
    if (bytes > NOTICE_BYTES_MAX) throw new RangeError(`the answer has more than ${NOTICE_BYTES_MAX} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}
