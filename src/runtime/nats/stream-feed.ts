/**
 * The messages of a stream, in order and without a gap: below listings.
 *
 * A push consumer without acknowledgements. Decides when to make it again: if a number is missing, or if the server's heartbeats stop, as
 * after the death of the server that it lived on. It then begins after the last message that arrived, so readers see no difference.
 * Invariant: sequences handed over are strictly ascending.
 */
import type { Msg, Subscription } from "@nats-io/transport-node";
import { ApiError, Backoff, ERROR, headersOf, type StoredMessage, type StreamApi, unavailable } from "./stream-api.ts";

interface FeedOptions {
  readonly api: StreamApi;
  readonly subjects: readonly string[];
  /** Without the bodies. */
  readonly headersOnly?: boolean;
  readonly onMessage: (message: StoredMessage) => void;
  /** The feed cannot continue: the stream was deleted, or the connection closed. */
  readonly onFailure: (error: Error) => void;
}

const HEARTBEAT_MS = 1_000;
const SILENCE_MS_MAX = 3_500;
/** Time after which the server forgets a consumer without a reader. */
const INACTIVE_MS = 30_000;
const NANOSECONDS_PER_MS = 1_000_000;
const STATUS_CONTROL = 100;

export class StreamFeed {
  readonly #options: FeedOptions;
  #subscription: Subscription | undefined;
  #consumer: string | undefined;
  #lastSequence = 0;
  /** Counts the messages that the consumer has sent us. */
  #lastDelivery = 0;
  #lastHeardMs = 0;
  #watchdog: NodeJS.Timeout | undefined;
  #isClosed = false;
  #isOpening = false;

  constructor(options: FeedOptions) {
    this.#options = options;
    void this.#open();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#watchdog);
    this.#drop();
  }

  async #open(): Promise<void> {
    if (this.#isOpening) return;
    this.#isOpening = true;
    const backoff = new Backoff();
    while (!this.#isClosed) {
      try {
        this.#drop();
        await this.#create();
        break;
      } catch (error) {
        const isGone = error instanceof ApiError && error.failure.err_code === ERROR.STREAM_NOT_FOUND;
        if (isGone || this.#options.api.link.connection.isClosed()) {
          this.#fail(unavailable("the stream of the store is not there any more", error));
          break;
        }
        await backoff.wait();
      }
    }
    this.#isOpening = false;
  }

  async #create(): Promise<void> {
    const { api, subjects, headersOnly = false } = this.#options;
    const inbox = api.link.inbox();
    const consumer = `feed_${inbox.slice(inbox.lastIndexOf(".") + 1)}`;
    this.#consumer = consumer;
    this.#lastDelivery = 0;
    this.#lastHeardMs = performance.now();
    const subscription = api.link.connection.subscribe(inbox, {
      callback: (error, message) => {
        // Messages of a consumer that was given up may still be on their way.
        if (error === null && this.#consumer === consumer) this.#receive(message);
      },
    });
    this.#subscription = subscription;
    await api.call(`CONSUMER.CREATE.${api.stream}.${consumer}`, {
      stream_name: api.stream,
      action: "create",
      config: {
        name: consumer,
        deliver_subject: inbox,
        deliver_policy: "by_start_sequence",
        opt_start_seq: this.#lastSequence + 1,
        filter_subjects: subjects,
        ack_policy: "none",
        max_deliver: 1,
        headers_only: headersOnly,
        flow_control: true,
        idle_heartbeat: HEARTBEAT_MS * NANOSECONDS_PER_MS,
        inactive_threshold: INACTIVE_MS * NANOSECONDS_PER_MS,
        mem_storage: true,
        num_replicas: 1,
      },
    });
    this.#watchdog ??= setInterval(() => this.#checkSilence(), HEARTBEAT_MS);
  }

  #receive(message: Msg): void {
    this.#lastHeardMs = performance.now();
    if (message.headers !== undefined && message.headers.code === STATUS_CONTROL) return this.#control(message);
    const place = placeOf(message.reply ?? "");
    if (place.delivery !== this.#lastDelivery + 1) {
      void this.#open();
      return;
    }
    this.#lastDelivery = place.delivery;
    // A replica that lags behind when the consumer is made begins before the requested place.
    if (place.sequence <= this.#lastSequence) return;
    this.#lastSequence = place.sequence;
    this.#options.onMessage({
      subject: message.subject,
      sequence: place.sequence,
      headers: headersOf(message.headers),
      data: message.data.slice(),
    });
  }

  /** Handles a heartbeat, which has the number of sent messages, or a request to answer once everything before it was taken. */
  #control(message: Msg): void {
    const { headers } = message;
    if (message.reply !== undefined && message.reply !== "") {
      message.respond();
      return;
    }
    const stalled = headers?.get("Nats-Consumer-Stalled");
    if (stalled) this.#options.api.link.connection.publish(stalled);
    const sent = headers?.get("Nats-Last-Consumer");
    if (sent && Number(sent) !== this.#lastDelivery) void this.#open();
  }

  #checkSilence(): void {
    if (performance.now() - this.#lastHeardMs < SILENCE_MS_MAX) return;
    this.#lastHeardMs = performance.now();
    void this.#open();
  }

  #fail(error: Error): void {
    if (this.#isClosed) return;
    this.close();
    this.#options.onFailure(error);
  }

  /** Tells the server if it can; otherwise the consumer ends by itself. */
  #drop(): void {
    const consumer = this.#consumer;
    this.#consumer = undefined;
    this.#subscription?.unsubscribe();
    this.#subscription = undefined;
    const { link, stream } = this.#options.api;
    if (consumer === undefined || !link.isConnected) return;
    void link.request(`$JS.API.CONSUMER.DELETE.${stream}.${consumer}`, "", { timeoutMs: HEARTBEAT_MS }).catch(() => {});
  }
}

/**
 * Finds the position of a message in the subject for its acknowledgement:
 * `$JS.ACK.<stream>.<consumer>.<times>.<sequence>.<delivery>.<time>.<pending>`, in newer servers with a domain and an account before the
 * stream and a token at the end.
 */
function placeOf(reply: string): { sequence: number; delivery: number } {
  const words = reply.split(".");
  const first = words.length > 9 ? 6 : 4;
  return { sequence: Number(words[first + 1]), delivery: Number(words[first + 2]) };
}
