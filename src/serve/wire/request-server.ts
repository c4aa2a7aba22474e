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
  Message,
  type OpeningFrame,
  type RequestHead,
  type ResponseHead,
  textOf,
} from "./frames.ts";
import { StreamTable } from "./stream-table.ts";

const NO_BYTES = new Uint8Array(0);

/** A request in progress, at the replica's end. */
export class ServedStream {
  readonly id: number;
  readonly kind: OpeningFrame;
  readonly head: RequestHead;
  /** All of the body where it came with the head, and a receiver otherwise. */
  readonly body: Uint8Array | BodyReceiver;
  /** Messages from the client of a WebSocket or of gRPC; undefined for other requests, and for a call of gRPC whose one message is the body. */
  readonly messages: BodyReceiver<Message> | undefined;
  /** The client is gone, its time is over, or the proxy is. */
  onCancel: ((reason: string) => void) | undefined;
  #cancelled: string | undefined;
  readonly #server: RequestServer;
  /** Made with the first piece: most answers are whole. */
  #sender: BodySender | undefined;
  #isOver = false;

  constructor(
    server: RequestServer,
    id: number,
    parsed: { kind: OpeningFrame; head: RequestHead; body: Uint8Array | BodyReceiver; messages: BodyReceiver<Message> | undefined },
  ) {
    this.#server = server;
    this.id = id;
    this.kind = parsed.kind;
    this.head = parsed.head;
    this.body = parsed.body;
    this.messages = parsed.messages;
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
    this.#sender?.flush();
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
    this.#sender?.flush();
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
        this.#receiver?.ended(body.byteLength === 0 ? [] : (JSON.parse(textOf(body)) as string[]));
        break;
      case FRAME.CREDIT:
        this.#sender?.credited(number);
        break;
      case FRAME.CANCEL:
        this.cancel(textOf(body));
        break;
    }
  }

  /** @internal nobody wants the answer */
  cancel(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelled = reason;
    this.#server.over(this.id);
    this.#sender?.stop();
    this.#receiver?.failed(new Error(reason));
    this.onCancel?.(reason);
  }

  get #download(): BodySender {
    const sender: BodySender =
      this.#sender ??
      new BodySender(
        (bytes) => this.#server.send(FRAME.BODY, 0, this.id, bytes),
        STREAM_WINDOW_BYTES,
        () => this.#server.gather(sender),
      );
    this.#sender = sender;
    return sender;
  }

  get #receiver(): BodyReceiver | BodyReceiver<Message> | undefined {
    return this.messages ?? (this.body instanceof BodyReceiver ? this.body : undefined);
  }
}

export class RequestServer {
  readonly #connection: ServiceConnection;
  readonly #serve: (stream: ServedStream) => void;
  readonly #streams = new StreamTable<ServedStream>();
  /** Senders that hold pieces of this turn. */
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
    const headSize = Buffer.byteLength(headText);
    const flags = isWhole ? FLAG.END : 0;
    if (isWhole) this.#streams.delete(id);
    if (body instanceof Uint8Array) {
      const bytes = Buffer.concat([Buffer.from(headText), body]);
      this.#connection.sendNumbered(FRAME.RESPONSE, flags, id, headSize, bytes, 0, bytes.length);
    } else this.#connection.sendText(FRAME.RESPONSE, flags, id, headSize, body === undefined ? headText : headText + body);
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

  #receiver<P extends { readonly byteLength: number } = Uint8Array>(id: number): BodyReceiver<P> {
    return new BodyReceiver<P>((bytes) => this.sendNumber(FRAME.CREDIT, id, bytes));
  }

  #receive(frame: Frame): void {
    const { type, callId, number, flags, body } = frame;
    if (type !== FRAME.REQUEST && type !== FRAME.SOCKET && type !== FRAME.GRPC) {
      this.#streams.get(callId)?.receive(frame);
      return;
    }
    const head = decodeRequestHead(textOf(body, number));
    const isWhole = (flags & FLAG.END) !== 0;
    const own = number === body.byteLength ? NO_BYTES : Buffer.from(body.subarray(number));
    const isConversation = type === FRAME.SOCKET || (type === FRAME.GRPC && !isWhole);
    const messages = isConversation ? this.#receiver<Message>(callId) : undefined;
    const receiver = isWhole || isConversation ? undefined : this.#receiver(callId);
    receiver?.arrived(own);
    const stream = new ServedStream(this, callId, { kind: type, head, body: receiver ?? own, messages });
    this.#streams.add(stream);
    this.#serve(stream);
  }
}
