/**
 * Passes a WebSocket from the wire to the user's `websocket(socket, request)`, until the socket is closed.
 *
 * Couples the end of user code with the end of the socket. A method that throws before it uses the socket refuses the handshake, with the status of its error or
 * with the thrown `Response`. A later error closes with 1011. A return closes with 1000 unless listeners remain. A client that leaves ends the request's signal.
 * The counterpart of `http-requests.ts`; the replica calls it for each admitted socket.
 */
import type { LibraryCall } from "../../../core/internal.ts";
import { RequestCancelledError } from "../../errors.ts";
import type { ServedStream } from "../../wire/request-server.ts";
import { MESSAGE_BYTES_MAX } from "../../limits.ts";
import { type RequestFailures, respondToError } from "./http-requests.ts";
import { lazyRequest } from "./lazy-request.ts";
import { flatHeaders } from "./lazy-response.ts";
import { ServerWebSocket } from "./server-websocket.ts";

type WebSocketFunction = (socket: ServerWebSocket, request: Request) => unknown;

interface WebSocketRequestOptions extends RequestFailures {
  readonly websocket: WebSocketFunction;
}

const NO_BYTES = new Uint8Array(0);

export class WebSocketRequests {
  readonly #options: WebSocketRequestOptions;

  constructor(options: WebSocketRequestOptions) {
    this.#options = options;
  }

  /** @param ended called once, when the socket is closed and the method has ended; whether user code failed */
  serve(stream: ServedStream, call: LibraryCall, ended: (isFailed: boolean) => void): void {
    const request = lazyRequest({ ...stream.head, method: "GET" }, NO_BYTES, () => call.signal);
    const socket = new ServerWebSocket({
      stream,
      protocols: (request.headers.get("sec-websocket-protocol") ?? "")
        .split(",")
        .flatMap((name) => (name.trim() === "" ? [] : [name.trim()])),
      accepted: (protocol, headers) => {
        const chosen = protocol === "" ? [] : ["sec-websocket-protocol", protocol];
        stream.begin({ status: 101, statusText: "", ongoing: this.#options.ongoing(), headers: [...chosen, ...headers] });
        // Only now: a request that user code refuses is refused whole.
        stream.accept();
      },
      run: (body) => call.run(body),
    });
    stream.onCancel = (reason) => {
      const { messages } = stream;
      const [code = "1006", text = ""] = messages?.trailers ?? [];
      call.cancel(new RequestCancelledError(`Request ${stream.head.requestId} was cancelled: ${reason}`, { reason }));
      // Readers of messages end by themselves, so only the socket is closed here.
      setImmediate(() => socket.closed(Number(code), text));
    };
    void this.#run(stream, call, { socket, request }).then(ended);
  }

  /** @returns whether user code failed */
  async #run(
    stream: ServedStream,
    call: LibraryCall,
    { socket, request }: { socket: ServerWebSocket; request: Request },
  ): Promise<boolean> {
    try {
      await call.run(() => {
        const returned = this.#options.websocket(socket, request);
        // `onmessage`, which tells nobody that it was set.
        socket.listen();
        return returned;
      });
      socket.listen();
      if (!socket.isHeardByListeners) socket.end(1000, "");
    } catch (error) {
      if (stream.cancelled !== undefined) {
        if (error instanceof Response) void error.body?.cancel(stream.cancelled).catch(() => {});
        return false;
      }
      if (socket.readyState === 0 && error instanceof Response) return await this.#refuse(stream, error);
      if (socket.readyState === 0) respondToError(error, stream, this.#options);
      else {
        this.#options.onError(error, stream);
        socket.end(1011, "internal error");
      }
      return true;
    }
    await socket.whenClosed();
    return false;
  }

  /** Answers the handshake with a response, whole: it is no failure of the code. @returns whether its body failed */
  async #refuse(stream: ServedStream, response: Response): Promise<boolean> {
    const { status, statusText, headers } = response;
    try {
      const body = await wholeBody(response, stream);
      if (stream.cancelled !== undefined) return false;
      stream.respond({ status, statusText, headers: flatHeaders(headers), ongoing: this.#options.ongoing() }, body);
      return false;
    } catch (error) {
      if (stream.cancelled !== undefined) return false;
      respondToError(error, stream, this.#options);
      return true;
    }
  }
}

/** Reads as long as the client waits, and no more than the answer may have. @throws RangeError for a longer body, and what the body fails with */
async function wholeBody(response: Response, stream: ServedStream): Promise<Uint8Array> {
  if (response.body === null) return NO_BYTES;
  const reader = response.body.getReader() as ReadableStreamDefaultReader<Uint8Array | string>;
  const cancelled = stream.onCancel;
  stream.onCancel = (reason) => {
    cancelled?.(reason);
    void reader.cancel(reason).catch(() => {});
  };
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const bytes = typeof read.value === "string" ? new TextEncoder().encode(read.value) : read.value;
    pieces.push(bytes);
    size += bytes.byteLength;
    if (size <= MESSAGE_BYTES_MAX) continue;
    const error = new RangeError(
      `Cannot refuse a WebSocket: the body of its response has at most ${MESSAGE_BYTES_MAX} bytes: received ${size} or more`,
    );
    void reader.cancel(error).catch(() => {});
    throw error;
  }
  return Buffer.concat(pieces);
}
