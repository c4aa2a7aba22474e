/**
 * Answers of routes: a status, a body and its type; and errors that are answers.
 *
 * Errors of callers have a status below 500 and say what to send instead. Nothing here knows sockets.
 */

export interface HttpAnswer {
  readonly status: number;
  /** A text in pieces is sent as it comes. */
  readonly body: string | Uint8Array | AsyncIterable<string>;
  readonly type: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const JSON_TYPE = "application/json; charset=utf-8";
const TEXT_TYPE = "text/plain; charset=utf-8";

/** An answer in place of the one that was wanted. */
export class HttpError extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

export function jsonAnswer(value: unknown, status = 200): HttpAnswer {
  return { status, body: JSON.stringify(value), type: JSON_TYPE };
}

export function textAnswer(body: string, status = 200): HttpAnswer {
  return { status, body, type: TEXT_TYPE };
}

/** Ray's envelope of an answer that is a result. */
export function rayAnswer(data: object, msg = ""): HttpAnswer {
  return jsonAnswer({ result: true, msg, data });
}
