/**
 * The proxy's end of the wire to one replica: opens a stream for each request, and passes the answer to its opener.
 *
 * Owns the numbers of streams and the connection. When the connection ends, every open stream learns whether its request may have begun. The router's links
 * (`proxy/replica-links.ts`) make it, and the HTTP front uses it.
 */
import type { Frame, ServiceConnection } from "../../core/internal.ts";
import { BodyReceiver } from "./body-receiver.ts";
import { BodySender } from "./body-sender.ts";
import {
  decodeResponseHead,
  encodeRequestHead,
  FLAG,
  FRAME,
  Message,
  type OpeningFrame,
  type ReceivedHead,
  type RequestHead,
  textOf,
} from "./frames.ts";
import { StreamTable } from "./stream-table.ts";

/** Events for the one that opened a stream. Exactly one of `responded`, `busy` and `failed` is called, and `failed` may follow `responded`. */
export interface StreamEvents {
  /**
   * The answer has begun.
   *
   * @param whole the body where it came with the head, a view that is valid during the call only; otherwise the body arrives in `stream.body`
   */
  responded(head: ReceivedHead, whole: Uint8Array | undefined): void;
  /** The replica is at its limit and has not begun. */
  busy(ongoing: number): void;
  /** The connection broke, or the replica gave up. `mayHaveBegun`: it must not be sent again unless that does no harm. */
  failed(error: Error, mayHaveBegun: boolean): void;
  /** The replica is to end by plan: whoever can go elsewhere should. */
  retired?(): void;
}

const NO_BYTES = new Uint8Array(0);
const STREAM_MAX = 0xffffffff;

/** A request in progress, at the proxy's end. */
export class RequestStream {
  readonly id: number;
  readonly kind: OpeningFrame;
  readonly events: StreamEvents;
  /** Sends the request's body, or messages to a WebSocket; undefined if the whole body went with the head. */
  readonly upload: BodySender | undefined;
  /** Body of the response, where it did not come whole with the head. */
  body: BodyReceiver | undefined;
  /** Messages from the replica, once it has accepted a WebSocket. */
  messages: BodyReceiver<Message> | undefined;
  readonly #client: RequestClient;

  constructor(
    client: RequestClient,
    id: number,
    { kind, events, isWhole }: { kind: OpeningFrame; events: StreamEvents; isWhole: boolean },
  ) {
    this.#client = client;
    this.id = id;
    this.kind = kind;
    this.events = events;
    // Nothing of a body goes out before the replica has begun: a request that it refuses is sent to another one whole.
    this.upload = isWhole ? undefined : new BodySender((bytes) => client.send(FRAME.BODY, 0, id, bytes), 0);
  }

  /** Sends a piece of the request's body. @returns false where the replica wants no more */
  write(bytes: Uint8Array): boolean | Promise<boolean> {
    return this.upload?.write(bytes) ?? false;
  }

  /** Sends a message of a WebSocket. @returns false where the replica wants no more */
  writeMessage(message: Message): boolean | Promise<boolean> {
    const send = ({ bytes, isText }: Message): void => this.#client.send(FRAME.MESSAGE, isText ? FLAG.TEXT : 0, this.id, bytes);
    return this.upload?.writeMessage(message, send) ?? false;
  }

  /** The request's body is over. */
  end(trailers: readonly string[] = []): void {
    this.#client.send(FRAME.END, 0, this.id, trailers.length === 0 ? NO_BYTES : Buffer.from(JSON.stringify(trailers)));
  }

  /** Cancels the request: its answer is no longer wanted. */
  cancel(reason: string): void {
    this.upload?.stop();
    this.#client.cancel(this, reason);
  }

  /** The response's bytes were taken. */
  credit(bytes: number): void {
    this.#client.credit(this.id, bytes);
  }
}

export class RequestClient {
  /** The connection has ended; told after all streams were. */
  onClose: (reason: string) => void = () => {};
  readonly #connection: ServiceConnection;
  readonly #streams = new StreamTable<RequestStream>();
  #lastId = 0;
  #isClosed = false;

  constructor(connection: ServiceConnection) {
    this.#connection = connection;
    connection.gathersTurns = true;
    connection.onFrame = (frame) => this.#receive(frame);
    connection.onClose = (reason) => this.#closed(reason);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get openCount(): number {
    return this.#streams.size;
  }

  /** Opens a stream. @param body the whole body; undefined if it follows by `write` and `end` */
  open({ kind, head }: { kind: OpeningFrame; head: RequestHead }, body: Uint8Array | undefined, events: StreamEvents): RequestStream {
    do this.#lastId = this.#lastId === STREAM_MAX ? 1 : this.#lastId + 1;
    while (!this.#streams.hasPlaceFor(this.#lastId));
    const stream = new RequestStream(this, this.#lastId, { kind, events, isWhole: body !== undefined });
    this.#streams.add(stream);
    const headText = encodeRequestHead(head);
    const headSize = Buffer.byteLength(headText);
    const flags = body === undefined ? 0 : FLAG.END;
    if (body === undefined || body.byteLength === 0) this.#connection.sendText(kind, flags, stream.id, headSize, headText);
    else {
      const bytes = Buffer.concat([Buffer.from(headText), body]);
      this.#connection.sendNumbered(kind, flags, stream.id, headSize, bytes, 0, bytes.length);
    }
    return stream;
  }

  send(type: number, flags: number, id: number, bytes: Uint8Array): void {
    this.#connection.sendNumbered(type, flags, id, 0, bytes, 0, bytes.byteLength);
  }

  credit(id: number, bytes: number): void {
    this.#connection.sendNumbered(FRAME.CREDIT, 0, id, bytes, NO_BYTES, 0, 0);
  }

  cancel(stream: RequestStream, reason: string): void {
    if (!this.#streams.delete(stream.id)) return;
    this.send(FRAME.CANCEL, 0, stream.id, Buffer.from(reason));
  }

  /** The replica is to end by plan. */
  retire(): void {
    for (const stream of this.#streams.all()) stream.events.retired?.();
  }

  close(): void {
    this.#connection.close();
  }

  #receive(frame: Frame): void {
    const stream = this.#streams.get(frame.callId);
    if (stream === undefined) return;
    switch (frame.type) {
      case FRAME.RESPONSE:
        this.#responded(stream, frame);
        break;
      case FRAME.BODY:
        stream.body?.arrived(Buffer.from(frame.body));
        break;
      case FRAME.MESSAGE:
        stream.messages?.arrived(new Message(Buffer.from(frame.body), (frame.flags & FLAG.TEXT) !== 0));
        break;
      case FRAME.END:
        this.#streams.delete(stream.id);
        stream.upload?.stop();
        (stream.messages ?? stream.body)?.ended(frame.body.byteLength === 0 ? [] : (JSON.parse(textOf(frame.body)) as string[]));
        break;
      case FRAME.CREDIT:
        stream.upload?.credited(frame.number);
        break;
      case FRAME.CANCEL: {
        const error = new Error(textOf(frame.body));
        this.#fail(stream, error, true);
        break;
      }
      case FRAME.BUSY:
        this.#streams.delete(stream.id);
        stream.upload?.stop();
        stream.events.busy(frame.number);
        break;
    }
  }

  #responded(stream: RequestStream, { number, flags, body }: Frame): void {
    const head = decodeResponseHead(textOf(body, number));
    const first = body.subarray(number);
    if ((flags & FLAG.END) !== 0) {
      this.#streams.delete(stream.id);
      stream.upload?.stop();
      stream.events.responded(head, first);
      return;
    }
    if (head.status === 101 && stream.kind !== FRAME.REQUEST) {
      stream.messages = new BodyReceiver((bytes) => stream.credit(bytes));
      stream.events.responded(head, undefined);
      return;
    }
    stream.body = new BodyReceiver((bytes) => stream.credit(bytes));
    if (first.byteLength > 0) stream.body.arrived(Buffer.from(first));
    stream.events.responded(head, undefined);
  }

  #fail(stream: RequestStream, error: Error, mayHaveBegun: boolean): void {
    this.#streams.delete(stream.id);
    stream.upload?.stop();
    (stream.messages ?? stream.body)?.failed(error);
    stream.events.failed(error, mayHaveBegun);
  }

  #closed(reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const stream of this.#streams.all()) this.#fail(stream, new Error(`the replica's connection ended: ${reason}`), true);
    this.onClose(reason);
  }
}
