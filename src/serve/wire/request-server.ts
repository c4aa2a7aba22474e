/**
 * The replica's end of the wire to one proxy: makes a stream of each REQUEST and hands it to the replica, which answers by it.
 *
 * Owns the streams of the connection. A connection that ends cancels all of them, as the clients behind it cannot be answered any more. Decides nothing about requests: whether
 * one is begun is the replica's matter (`replica/replica.ts`).
 */
import type { Frame, ServiceConnection } from "../../core/internal.ts";
import { STREAM_WINDOW_BYTES } from "../limits.ts";
import { BodyReceiver } from "./body-receiver.ts";
import { BodySender } from "./body-sender.ts";
import {
  decodeRequestHead,
  encodeResponseHead,
  FLAG,
  FRAME,
  GRPC_METHOD,
  Message,
  type RequestHead,
  type ResponseHead,
  WEBSOCKET_METHOD,
} from "./frames.ts";
import { StreamTable } from "./stream-table.ts";

const NO_BYTES = new Uint8Array(0);

/** A request in progress, at the replica's end. */
export class ServedStream {
  readonly id: number;
  readonly head: RequestHead;
  /** All of the body where it came with the head, and a receiver otherwise. */
  readonly body: Uint8Array | BodyReceiver;
  /** Messages from the client of a WebSocket or of gRPC; undefined for other requests, and for a call of gRPC whose one message is the body. */
  readonly messages: BodyReceiver<Message> | undefined;
  /** The client is gone, its time is over, or the proxy is. */
  onCancel: ((reason: string) => void) | undefined;
  #cancelled: string | undefined;
  readonly #server: RequestServer;
  readonly #download: BodySender;
  #isOver = false;

  constructor(
    server: RequestServer,
    id: number,
    parsed: { head: RequestHead; body: Uint8Array | BodyReceiver; messages: BodyReceiver<Message> | undefined },
  ) {
    this.#server = server;
    this.id = id;
    this.head = parsed.head;
    this.body = parsed.body;
    this.messages = parsed.messages;
    this.#download = new BodySender(
      (bytes) => server.send(FRAME.BODY, 0, id, bytes),
      STREAM_WINDOW_BYTES,
      () => server.gather(this.#download),
    );
  }

  /** The replica begins with the request: its body may come. */
  accept(): void {
    if (this.#receiver !== undefined) this.#server.sendNumber(FRAME.CREDIT, this.id, STREAM_WINDOW_BYTES);
  }

  /** Why the stream is over, where it did not end by itself. */
  get cancelled(): string | undefined {
    return this.#cancelled;
  }

  /** The whole answer. */
  respond(head: ResponseHead, body: Uint8Array | string | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#server.respond(this.id, head, { body, isWhole: true });
  }

  /** The head, with a body that follows by `write` and `end`. */
  begin(head: ResponseHead): void {
    if (!this.#isOver) this.#server.respond(this.id, head, { body: undefined, isWhole: false });
  }

  /** @returns false where nobody wants more */
  write(bytes: Uint8Array): boolean | Promise<boolean> {
    return this.#isOver ? false : this.#download.write(bytes);
  }

  /** Sends a message of a WebSocket. @returns false where nobody wants more */
  writeMessage(message: Message): boolean | Promise<boolean> {
    if (this.#isOver) return false;
    return this.#download.writeMessage(message, ({ bytes, isText }) =>
      this.#server.send(FRAME.MESSAGE, isText ? FLAG.TEXT : 0, this.id, bytes),
    );
  }

  end(trailers: readonly string[] = []): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#download.flush();
    this.#server.over(this.id);
    this.#server.send(FRAME.END, 0, this.id, trailers.length === 0 ? NO_BYTES : Buffer.from(JSON.stringify(trailers)));
  }

  /** The request was not begun: the replica has as many as it may. */
  refuse(ongoing: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#server.over(this.id);
    this.#server.sendNumber(FRAME.BUSY, this.id, ongoing);
  }

  /** The answer cannot be finished. */
  abort(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#download.flush();
    this.#server.over(this.id);
    this.#server.send(FRAME.CANCEL, 0, this.id, Buffer.from(reason));
  }

  /** @internal a frame of the proxy */
  receive({ type, number, flags, body }: Frame): void {
    switch (type) {
      case FRAME.BODY:
        if (this.body instanceof BodyReceiver) this.body.arrived(Buffer.from(body));
        break;
      case FRAME.MESSAGE:
        this.messages?.arrived(new Message(Buffer.from(body), (flags & FLAG.TEXT) !== 0));
        break;
      case FRAME.END:
        this.#receiver?.ended(body.byteLength === 0 ? [] : (JSON.parse(Buffer.from(body).toString()) as string[]));
        break;
      case FRAME.CREDIT:
        this.#download.credited(number);
        break;
      case FRAME.CANCEL:
        this.cancel(Buffer.from(body).toString());
        break;
    }
  }

  /** @internal nobody wants the answer */
  cancel(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelled = reason;
    this.#server.over(this.id);
    this.#download.stop();
    this.#receiver?.failed(new Error(reason));
    this.onCancel?.(reason);
  }

  get #receiver(): BodyReceiver | BodyReceiver<Message> | undefined {
    return this.messages ?? (this.body instanceof BodyReceiver ? this.body : undefined);
  }
}

export class RequestServer {
  readonly #connection: ServiceConnection;
  readonly #serve: (stream: ServedStream) => void;
  readonly #streams = new StreamTable<ServedStream>();
  /** Those that have pieces of this turn. */
  #gathering: BodySender[] = [];

  /** @param serve answers a stream by its methods; it never throws */
  constructor(connection: ServiceConnection, serve: (stream: ServedStream) => void) {
    this.#connection = connection;
    this.#serve = serve;
    connection.gathersTurns = true;
    connection.onBeforeFlush = () => {
      const senders = this.#gathering;
      this.#gathering = [];
      for (const sender of senders) sender.flush();
    };
    connection.onFrame = (frame) => this.#receive(frame);
    connection.onClose = () => {
      for (const stream of this.#streams.all()) stream.cancel("the proxy is gone");
    };
  }

  get openCount(): number {
    return this.#streams.size;
  }

  respond(id: number, head: ResponseHead, { body, isWhole }: { body: Uint8Array | string | undefined; isWhole: boolean }): void {
    const headText = encodeResponseHead(head);
    // The usual answer is text behind a head of ASCII: one encoding for both.
    const isShort = typeof body === "string" && body.length < 4096;
    const headBytes = isShort ? undefined : Buffer.from(headText);
    const headSize = headBytes?.length ?? Buffer.byteLength(headText);
    const bytes = isShort
      ? Buffer.from(headText + body)
      : body === undefined
        ? (headBytes as Buffer)
        : Buffer.concat([headBytes as Buffer, typeof body === "string" ? Buffer.from(body) : body]);
    if (isWhole) this.#streams.delete(id);
    this.#connection.sendNumbered(FRAME.RESPONSE, isWhole ? FLAG.END : 0, id, headSize, bytes, 0, bytes.length);
  }

  send(type: number, flags: number, id: number, bytes: Uint8Array): void {
    this.#connection.sendNumbered(type, flags, id, 0, bytes, 0, bytes.byteLength);
  }

  /** The sender is flushed at the end of the turn. */
  gather(sender: BodySender): void {
    this.#gathering.push(sender);
    this.#connection.flushLater();
  }

  sendNumber(type: number, id: number, number: number): void {
    this.#connection.sendNumbered(type, 0, id, number, NO_BYTES, 0, 0);
  }

  over(id: number): void {
    this.#streams.delete(id);
  }

  close(): void {
    this.#connection.close();
  }

  #receive(frame: Frame): void {
    const { type, callId, number, flags, body } = frame;
    if (type !== FRAME.REQUEST) {
      this.#streams.get(callId)?.receive(frame);
      return;
    }
    const head = decodeRequestHead(Buffer.from(body.buffer, body.byteOffset, number).toString());
    const first = body.subarray(number);
    const isWhole = (flags & FLAG.END) !== 0;
    const credit = (bytes: number): void => this.sendNumber(FRAME.CREDIT, callId, bytes);
    const isOfMessages = head.method === WEBSOCKET_METHOD || (head.method === GRPC_METHOD && !isWhole);
    const messages = isOfMessages ? new BodyReceiver<Message>(credit) : undefined;
    const receiver = isWhole || messages !== undefined ? undefined : new BodyReceiver(credit);
    const own = first.byteLength === 0 ? NO_BYTES : Buffer.from(first);
    if (receiver !== undefined) receiver.arrived(own);
    const stream = new ServedStream(this, callId, { head, body: receiver ?? own, messages });
    this.#streams.add(stream);
    this.#serve(stream);
  }
}
