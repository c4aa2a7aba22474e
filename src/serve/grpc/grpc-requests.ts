/**
 * From a call of gRPC on the wire to a method of the user's object, and back. The counterpart of `http-requests.ts`, called by the replica for each call that it has admitted.
 *
 * Decides the arguments of a method: a message, or an async iterable of messages, and a context. Decides the status of a call whose method
 * throws, too: that of an error with a status of gRPC, or the one for an error that Serve knows. All others are INTERNAL with the request's
 * id, with the text in development alone.
 */
import { describeValue, type LibraryCall } from "../../core/internal.ts";
import { RequestCancelledError } from "../errors.ts";
import type { RequestFailures } from "../replica/http/http-requests.ts";
import type { UserCode } from "../replica/user-object.ts";
import type { BodyReceiver } from "../wire/body-receiver.ts";
import type { Message } from "../wire/frames.ts";
import type { ServedStream } from "../wire/request-server.ts";
import {
  ANSWERED,
  decodeMessage,
  encodeHeaders,
  encodeMessage,
  endTrailers,
  GRPC_STATUS,
  type GrpcEnd,
  type GrpcTarget,
  readTarget,
} from "./grpc-calls.ts";

/** Second argument of the ingress's methods, beside the message. */
export interface GrpcContext {
  readonly requestId: string;
  /** The metadata of the client, by lower-case names; those that end in `-bin` are base64. */
  readonly metadata: ReadonlyMap<string, readonly string[]>;
  /** Aborts when the client goes, or its deadline is over. */
  readonly signal: AbortSignal;
  /** Initial metadata: sent with the first message of the answer, or with its end. Values of names that end in `-bin` are base64, here and in `trailers`. */
  readonly headers: Map<string, string>;
  /** Metadata that is sent with the end of the call. */
  readonly trailers: Map<string, string>;
}

/** An error with a status of gRPC: throw it in a method, and the client gets code and text. */
export class GrpcStatusError extends Error {
  override readonly name = "GrpcStatusError";
  /** 1 to 16, as `status` of `@grpc/grpc-js` has them. */
  readonly code: number;

  /** @throws RangeError for a number that is no code of a failure */
  constructor(code: number, details: string) {
    super(details);
    if (!isFailureCode(code))
      throw new RangeError(`Cannot make a gRPC status: a code from 1 to 16 is needed: received ${describeValue(code)}`);
    this.code = code;
  }
}

interface GrpcRequestOptions extends RequestFailures {
  readonly user: UserCode;
}

const CODES: Readonly<Record<string, number>> = {
  TASK_TIMEOUT: GRPC_STATUS.DEADLINE_EXCEEDED,
  BACK_PRESSURE: GRPC_STATUS.RESOURCE_EXHAUSTED,
  DEPLOYMENT_UNAVAILABLE: GRPC_STATUS.UNAVAILABLE,
  REQUEST_CANCELLED: GRPC_STATUS.CANCELLED,
};

export class GrpcRequests {
  readonly #options: GrpcRequestOptions;

  constructor(options: GrpcRequestOptions) {
    this.#options = options;
  }

  /** @param ended called once, when the call is over; whether user code failed */
  serve(stream: ServedStream, call: LibraryCall, ended: (isFailed: boolean) => void): void {
    const { requestId, headers } = stream.head;
    stream.onCancel = (reason) => call.cancel(new RequestCancelledError(`Request ${requestId} was cancelled: ${reason}`, { reason }));
    if (stream.messages !== undefined) {
      stream.begin({ status: 101, statusText: "", ongoing: this.#options.ongoing(), headers: [] });
      stream.accept();
    }
    const context = {
      requestId,
      metadata: metadataOf(headers),
      signal: call.signal,
      headers: new Map<string, string>(),
      trailers: new Map<string, string>(),
    };
    void this.#run(stream, call, context).then(ended);
  }

  /** @returns whether user code failed */
  async #run(stream: ServedStream, call: LibraryCall, context: GrpcContext): Promise<boolean> {
    try {
      const whole = await call.run(() => this.#answer(stream, readTarget(stream.head.url), context));
      this.#end(stream, { code: GRPC_STATUS.OK, details: "", ...takeMetadata(context) }, whole);
      return false;
    } catch (error) {
      if (stream.cancelled !== undefined) return false;
      const { code, details } = this.#statusOf(error, stream);
      this.#end(stream, { code, details, ...takeMetadata(context) });
      return true;
    }
  }

  #end(stream: ServedStream, end: GrpcEnd, whole?: Message): void {
    const headers = endTrailers(end);
    if (stream.messages !== undefined) stream.end(headers);
    else stream.respond({ status: ANSWERED, statusText: "", ongoing: this.#options.ongoing(), headers }, whole?.bytes);
  }

  /** @returns the one message of an answer that is a frame */
  async #answer(stream: ServedStream, target: GrpcTarget, context: GrpcContext): Promise<Message | undefined> {
    const { user } = this.#options;
    const { kind, names } = target;
    const streamsOut = kind === "serverStream" || kind === "bidi";
    const streamsIn = kind === "clientStream" || kind === "bidi";
    const method = user.grpcMethod(names, { streamsIn, streamsOut });
    if (method === undefined)
      throw new GrpcStatusError(
        GRPC_STATUS.UNIMPLEMENTED,
        `the deployment has no method ${names.join(" or ")}${streamsIn ? " that can read a stream" : ""}`,
      );
    const { messages } = stream;
    const first =
      messages === undefined ? { bytes: stream.body as Uint8Array } : streamsIn ? undefined : ((await messages.next()) as Message);
    const input = first === undefined ? decoded(messages as BodyReceiver<Message>) : decodeMessage(first);
    const output = await method(input, context);
    if (!streamsOut) {
      const message = encodeMessage(output ?? {});
      if (messages === undefined) return message;
      await this.#write(stream, message, context);
      return undefined;
    }
    if (typeof output !== "object" || output === null || !(Symbol.asyncIterator in output || Symbol.iterator in output))
      throw new TypeError(
        `Cannot answer ${names[0]}: it has a stream of messages, which an async generator gives: received ${describeValue(output)}`,
      );
    for await (const message of output as AsyncIterable<unknown>) if (!(await this.#write(stream, encodeMessage(message), context))) break;
    return undefined;
  }

  /** Writes a message, behind the initial metadata where that has not gone out. @returns whether more is wanted */
  async #write(stream: ServedStream, message: Message, { headers }: GrpcContext): Promise<boolean> {
    if (headers.size > 0) {
      const first = encodeHeaders([...headers].flat());
      headers.clear();
      if (!(await stream.writeMessage(first))) return false;
    }
    return await stream.writeMessage(message);
  }

  #statusOf(error: unknown, stream: ServedStream): { code: number; details: string } {
    const { code, details } = (error ?? {}) as { code?: unknown; details?: unknown };
    const message = error instanceof Error ? error.message : describeValue(error);
    if (isFailureCode(code) && isStatusError(error)) return { code, details: typeof details === "string" ? details : message };
    const known = typeof code === "string" ? CODES[code] : undefined;
    if (known !== undefined) return { code: known, details: message };
    const { onError, showsErrors } = this.#options;
    onError(error, stream);
    const shown = error instanceof Error ? (error.stack ?? error.message) : describeValue(error);
    return { code: GRPC_STATUS.INTERNAL, details: showsErrors ? shown : `internal error, request ${stream.head.requestId}` };
  }
}

/** The metadata of a call that ends. */
function takeMetadata({ headers, trailers }: GrpcContext): Pick<GrpcEnd, "headers" | "metadata"> {
  return { headers: [...headers].flat(), metadata: [...trailers].flat() };
}

async function* decoded(messages: BodyReceiver<Message>): AsyncGenerator<unknown, void, undefined> {
  for await (const message of messages) yield decodeMessage(message);
}

function metadataOf(flat: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (let index = 0; index < flat.length; index += 2) {
    const name = flat[index] as string;
    found.set(name, [...(found.get(name) ?? []), flat[index + 1] as string]);
  }
  return found;
}

/** Our own error, also one that came through a handle, and what a client of `@grpc/grpc-js` rejects with. Exit codes of processes and codes of a DOMException are numbers, too, and their texts are not for clients. */
function isStatusError(error: unknown): boolean {
  if (error instanceof GrpcStatusError) return true;
  const { name, details, metadata } = error as { name?: unknown; details?: unknown; metadata?: { getMap?: unknown } | null };
  return name === "GrpcStatusError" || (typeof details === "string" && typeof metadata?.getMap === "function");
}

function isFailureCode(code: unknown): code is number {
  return typeof code === "number" && Number.isInteger(code) && code >= 1 && code <= 16;
}
