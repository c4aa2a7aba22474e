/**
 * The requests of the store to JetStream: their subjects, their JSON, and retries while the stream has no leader.
 *
 * Everything here may be repeated without harm and is, until an answer arrives or the time is over; writes, which may not, are in
 * `nats-transaction.ts`. Uses the servers' API instead of the client's JetStream and KV packages: these hide the headers of atomic batches,
 * and may read from replicas, which are stale.
 */
import type { MsgHdrs } from "@nats-io/transport-node";
import { ControlPlaneUnavailableError } from "../control-plane/control-plane-errors.ts";
import type { NatsLink } from "./nats-link.ts";

/** JetStream's answer in place of a result. */
export interface ApiFailure {
  readonly code: number;
  readonly err_code?: number;
  readonly description?: string;
}

export class ApiError extends Error {
  readonly failure: ApiFailure;
  constructor(failure: ApiFailure) {
    super(failure.description ?? `JetStream error ${failure.code}`);
    this.failure = failure;
  }
}

export const ERROR = {
  STREAM_NOT_FOUND: 10059,
  STREAM_EXISTS: 10058,
  NO_MESSAGE: 10037,
  WRONG_SEQUENCE: 10071,
} as const;

const API_TIMEOUT_MS = 2_500;
const BACKOFF_MS_MIN = 20;
const BACKOFF_MS_MAX = 400;

export class StreamApi {
  readonly link: NatsLink;
  readonly stream: string;
  readonly #timeoutMs: number;

  constructor({ link, stream, timeoutMs }: { link: NatsLink; stream: string; timeoutMs: number }) {
    this.link = link;
    this.stream = stream;
    this.#timeoutMs = timeoutMs;
  }

  /** Calls JetStream's API by command name, and repeats the request while nobody answers. */
  async call<Result>(command: string, body?: unknown): Promise<Result> {
    const giveUpAt = performance.now() + this.#timeoutMs;
    const backoff = new Backoff();
    for (;;) {
      try {
        return await this.#callOnce<Result>(command, body);
      } catch (error) {
        const isFinal = error instanceof ApiError && error.failure.code !== 503;
        if (isFinal) throw error;
        if (this.link.connection.isClosed()) throw unavailable("the connection is closed", error);
        if (performance.now() > giveUpAt) throw unavailable(`there was no answer to ${command} within ${this.#timeoutMs} ms`, error);
        await backoff.wait();
      }
    }
  }

  async #callOnce<Result>(command: string, body: unknown): Promise<Result> {
    const payload = body === undefined ? "" : JSON.stringify(body);
    const answer = await this.link.request(`$JS.API.${command}`, payload, { timeoutMs: API_TIMEOUT_MS });
    const parsed = answer.json<{ error?: ApiFailure }>();
    if (parsed.error !== undefined) throw new ApiError(parsed.error);
    return parsed as Result;
  }

  /** The last message of a subject, from the stream's leader. */
  async lastMessage(subject: string): Promise<StoredMessage | undefined> {
    try {
      const { message } = await this.call<{ message: RawMessage }>(`STREAM.MSG.GET.${this.stream}`, { last_by_subj: subject });
      return {
        subject: message.subject,
        sequence: message.seq,
        headers: parseHeaders(message.hdrs === undefined ? "" : Buffer.from(message.hdrs, "base64").toString("utf8")),
        data: Buffer.from(message.data ?? "", "base64"),
      };
    } catch (error) {
      if (error instanceof ApiError && error.failure.err_code === ERROR.NO_MESSAGE) return undefined;
      throw error;
    }
  }

  /** Writes one empty message that may be written twice. @returns its sequence; undefined when the check in its headers failed */
  async publish(subject: string, headers: MsgHdrs): Promise<number | undefined> {
    const giveUpAt = performance.now() + this.#timeoutMs;
    const backoff = new Backoff();
    for (;;) {
      let cause: unknown;
      try {
        const answer = await this.link.request(subject, "", { headers, timeoutMs: API_TIMEOUT_MS });
        const { error, seq } = answer.json<{ error?: ApiFailure; seq?: number }>();
        if (error === undefined) return seq;
        if (error.err_code === ERROR.WRONG_SEQUENCE) return undefined;
        cause = new ApiError(error);
      } catch (error) {
        cause = error;
      }
      if (performance.now() > giveUpAt || this.link.connection.isClosed()) throw unavailable(`${subject} could not be written`, cause);
      await backoff.wait();
    }
  }

  /** Removes this very message, not its subject: a newer one stays. Removing it twice is the same. */
  async deleteMessage(sequence: number): Promise<void> {
    try {
      await this.call(`STREAM.MSG.DELETE.${this.stream}`, { seq: sequence, no_erase: true });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
  }
}

export interface StoredMessage {
  readonly subject: string;
  readonly sequence: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly data: Uint8Array;
}

interface RawMessage {
  readonly subject: string;
  readonly seq: number;
  readonly hdrs?: string;
  readonly data?: string;
}

/** Waits a little longer each time, with some randomness, so that clients of a returning store do not come all at once. */
export class Backoff {
  #nextMs: number = BACKOFF_MS_MIN;

  async wait(): Promise<void> {
    const ms = this.#nextMs * (0.5 + Math.random() / 2);
    this.#nextMs = Math.min(BACKOFF_MS_MAX, this.#nextMs * 2);
    await new Promise((resolve) => setTimeout(resolve, ms));
  }
}

export function unavailable(why: string, cause?: unknown): ControlPlaneUnavailableError {
  return new ControlPlaneUnavailableError(`The control store does not answer: ${why}.`, {
    reason: "unavailable",
    hint: "Nothing was changed. While NATS elects a leader, 4 to 8 s, this is expected; otherwise see whether most of its servers run.",
    cause,
  });
}

export function headersOf(headers: MsgHdrs | undefined): ReadonlyMap<string, string> {
  return new Map(headers === undefined ? [] : headers.keys().map((name) => [name, headers.get(name)]));
}

/** The text form of NATS headers: a status line and `Name: value` lines. */
function parseHeaders(text: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const line of text.split("\r\n").slice(1)) {
    const colon = line.indexOf(":");
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return fields;
}
