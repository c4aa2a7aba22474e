/**
 * A client's request on its way through the proxy, in any protocol: choose a replica, send the request, hand the answer back.
 *
 * Decides which status a client gets where no replica answers, and when a request may be sent to another replica. A front (`http-front.ts`;
 * HTTP/2 and gRPC have their own) translates its protocol into an `IncomingRequest`, and writes the answer's pieces from the `ReplyPort`;
 * it knows nothing of replicas.
 */
import { BackPressureError, DeploymentUnavailableError } from "../errors.ts";
import { CALL_ATTEMPTS_MAX, PROXY_QUEUED_MAX } from "../limits.ts";
import type { DeploymentRouter } from "../routing/deployment-router.ts";
import type { RoutedReplica } from "../routing/replica-set.ts";
import type { BodyReceiver } from "../wire/body-receiver.ts";
import type { Message, OpeningFrame, ReceivedHead, RequestHead } from "../wire/frames.ts";
import type { RequestStream, StreamEvents } from "../wire/request-client.ts";
import type { ReplicaLinks } from "./replica-links.ts";

/** A request as a front has read it. */
export interface IncomingRequest {
  /** The kind of call, which follows from the front's protocol. */
  readonly kind: OpeningFrame;
  readonly head: RequestHead;
  /** The whole body, or its pieces as they come. */
  readonly body: Uint8Array | StreamedBody;
  /** Empty where it belongs to none. */
  readonly sessionId: string;
}

/** Pieces of a body, or messages of a WebSocket. */
export interface StreamedBody extends AsyncIterable<Uint8Array | Message> {
  /** Read at the end: headers behind the body; the code and reason of a close. */
  readonly trailers?: readonly string[];
  /** Called once the whole request has been sent. */
  sent?(): void;
}

/** Where a front writes the answer. */
export interface ReplyPort {
  /**
   * @param body the whole body, a view that is valid during the call only; or a receiver, whose pieces are to be taken as fast as the client takes them
   */
  respond(head: ReceivedHead, body: Uint8Array | BodyReceiver): void;
  /** No replica has answered. */
  refuse(status: number, options: { detail?: string; retryAfterMs?: number | undefined; isBackPressure?: boolean }): void;
  /** The replica is gone in the middle of an answer: the client has to see that it is not whole. */
  abort(reason: string): void;
  /** The replica has taken a WebSocket. */
  upgrade?(head: ReceivedHead, messages: BodyReceiver<Message>): void;
  /** The replica is to end by plan. */
  retired?(): void;
}

const NO_BYTES = new Uint8Array(0);

/** A request's way to a replica and back. The stream that it has open calls its public events. */
export class Exchange implements StreamEvents {
  readonly #request: IncomingRequest;
  readonly #reply: ReplyPort;
  readonly #router: DeploymentRouter;
  readonly #links: ReplicaLinks;
  #stream: RequestStream | undefined;
  #replica: RoutedReplica | undefined;
  #waiting: AbortController | undefined;
  #attempt = 0;
  #hasAnswer = false;
  #isOver = false;

  constructor(request: IncomingRequest, reply: ReplyPort, route: { router: DeploymentRouter; links: ReplicaLinks }) {
    this.#request = request;
    this.#reply = reply;
    this.#router = route.router;
    this.#links = route.links;
  }

  /** Sends the request. The port gets the outcome. */
  start(): void {
    const { head, sessionId } = this.#request;
    const { method, modelId } = head;
    try {
      const replica = this.#router.assign({ modelId, sessionId, method }, this.#signalOfWait(), PROXY_QUEUED_MAX);
      if (replica instanceof Promise)
        replica.then(
          (found) => this.#send(found),
          (error: unknown) => this.#notPlaced(error),
        );
      else this.#send(replica);
    } catch (error) {
      this.#notPlaced(error);
    }
  }

  /** The client is gone, or its time is over. */
  cancel(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#waiting?.abort(new Error(reason));
    this.#stream?.cancel(reason);
    this.#release();
  }

  /** Only a request that may have to wait needs a signal. */
  #signalOfWait(): AbortSignal | undefined {
    if (this.#router.hasRoom) return undefined;
    this.#waiting = new AbortController();
    return this.#waiting.signal;
  }

  #send(replica: RoutedReplica): void {
    if (this.#isOver) {
      this.#router.ended(replica);
      return;
    }
    this.#replica = replica;
    this.#attempt += 1;
    const client = this.#links.clientOf(replica);
    if (client instanceof Promise) {
      client.then(
        (connected) => this.#open(connected),
        (error: unknown) => this.failed(error as Error, false),
      );
    } else this.#open(client);
  }

  #open(client: Awaited<ReturnType<ReplicaLinks["clientOf"]>>): void {
    if (this.#isOver) return this.#release();
    const { body } = this.#request;
    const whole = body instanceof Uint8Array ? body : undefined;
    const stream = client.open(this.#request, whole, this);
    this.#stream = stream;
    if (whole === undefined) void this.#upload(stream, body as StreamedBody);
  }

  /** Nothing is read of the client before the replica has begun. */
  async #upload(stream: RequestStream, body: StreamedBody): Promise<void> {
    if (!(await stream.upload?.ready())) return;
    try {
      for await (const piece of body) {
        const sent = piece instanceof Uint8Array ? stream.write(piece) : stream.writeMessage(piece);
        if (!(sent === true || (await sent))) return;
      }
      if (this.#stream !== stream || this.#isOver) return;
      stream.end(body.trailers);
      body.sent?.();
    } catch (error) {
      // The client broke off amid its body.
      this.cancel((error as Error).message);
    }
  }

  responded(head: ReceivedHead, whole: Uint8Array | undefined): void {
    this.#hasAnswer = true;
    if (whole !== undefined) {
      this.#isOver = true;
      this.#release(head.ongoing);
      this.#reply.respond(head, whole);
      return;
    }
    const { body, messages } = this.#stream as RequestStream;
    if (messages !== undefined) {
      messages.onOver = () => this.#ended();
      this.#reply.upgrade?.(head, messages);
      if (this.#replica?.isRetired === true) this.#reply.retired?.();
      return;
    }
    if (body === undefined) {
      this.#reply.respond(head, NO_BYTES);
      return;
    }
    body.onOver = () => this.#ended();
    this.#reply.respond(head, body);
  }

  retired(): void {
    this.#reply.retired?.();
  }

  #ended(): void {
    this.#isOver = true;
    this.#release();
  }

  busy(ongoing: number): void {
    const replica = this.#replica as RoutedReplica;
    this.#replica = undefined;
    this.#stream = undefined;
    this.#attempt -= 1;
    this.#router.refused(replica, ongoing);
    if (!this.#isOver) this.start();
  }

  failed(error: Error, mayHaveBegun: boolean): void {
    const replica = this.#replica;
    this.#replica = undefined;
    this.#stream = undefined;
    if (replica !== undefined) this.#router.lost(replica);
    if (this.#isOver) return;
    if (this.#hasAnswer) {
      this.#isOver = true;
      this.#reply.abort(error.message);
      return;
    }
    const { head, body } = this.#request;
    const mayRepeat =
      !mayHaveBegun || (body instanceof Uint8Array && this.#router.routes?.idempotentMethods.includes(head.method) === true);
    if (mayRepeat && this.#attempt < (mayHaveBegun ? CALL_ATTEMPTS_MAX : this.#router.attemptsMax)) this.start();
    else {
      this.#isOver = true;
      this.#reply.refuse(500, { detail: "the replica died while it had the request" });
    }
  }

  #release(reported?: number): void {
    const replica = this.#replica;
    if (replica === undefined) return;
    this.#replica = undefined;
    this.#router.ended(replica, reported);
  }

  #notPlaced(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (error instanceof BackPressureError) {
      const { statusCode = 503, retryAfterMs } = this.#router.routes?.backpressure ?? {};
      this.#reply.refuse(statusCode, { retryAfterMs, detail: "too many requests wait already", isBackPressure: true });
    } else if (error instanceof DeploymentUnavailableError) this.#reply.refuse(503, { detail: "the application is not there" });
    else this.#reply.refuse(500, {});
  }
}
