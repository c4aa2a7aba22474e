/**
 * A client of an external environment: its greeting, its requests one after another, and its end.
 *
 * A fault of the client is answered with ERROR, which names the cause, and ends this connection alone.
 * The runner decides what requests mean.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { describeValue, messageOf } from "../../core/internal.ts";
import { decodeFrame, encodeFrame, FrameError, type LinkMessage } from "../link/frames.ts";
import { GREETING_WITHIN_MS, SHOWN_TEXT_MAX } from "../link/limits.ts";
import { LINK_VERSION, type LinkConfig, type RefusalCode, type Request, REQUESTS } from "../link/messages.ts";
import { SilentError, type Wire } from "./wires.ts";

/** A client that is sent away, with the cause. */
export class Refusal extends Error {
  readonly code: RefusalCode;

  constructor(code: RefusalCode, message: string) {
    super(message);
    this.code = code;
  }
}

export type Reply = Pick<LinkMessage, "type"> & Partial<Pick<LinkMessage, "fields" | "arrays">>;

/** The runner behind sessions. */
export interface LinkHandler {
  /** @throws FrameError, Refusal: the client is told and sent away */
  answer(session: LinkSession, message: LinkMessage & { readonly type: Request }): Promise<Reply>;
  /** The client has left. */
  gone(session: LinkSession): void;
}

interface SessionOptions {
  readonly config: LinkConfig;
  readonly token: string | undefined;
  readonly idleTimeoutMs: number;
  readonly maxFrameBytes: number;
}

export class LinkSession {
  readonly wire: Wire;
  readonly #options: SessionOptions;
  readonly #handler: LinkHandler;
  #isKnown = false;
  /** Ends the wait for an answer: the client has left. */
  #abandon: (() => void) | undefined;

  constructor(wire: Wire, options: SessionOptions, handler: LinkHandler) {
    this.wire = wire;
    this.#options = options;
    this.#handler = handler;
  }

  /** Whether the client has said hello. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Serves the client until it leaves. Never rejects. */
  async run(): Promise<void> {
    void this.wire.left.then(() => this.#abandon?.());
    try {
      await this.#serve();
    } catch (error) {
      await this.refuse(error);
    } finally {
      this.wire.close();
      await this.wire.left;
      this.#handler.gone(this);
    }
  }

  async #serve(): Promise<void> {
    const { idleTimeoutMs, maxFrameBytes } = this.#options;
    const greeting = await this.wire.next(GREETING_WITHIN_MS);
    if (greeting === undefined) return;
    await this.#greet(decodeFrame(greeting));
    this.#isKnown = true;
    this.wire.maxBytes = maxFrameBytes;
    for (let frame = await this.wire.next(idleTimeoutMs); frame !== undefined; frame = await this.wire.next(idleTimeoutMs)) {
      const message = decodeFrame(frame);
      const reply = await this.#answerOrLeave(message);
      if (reply === undefined) return;
      const { type, fields = {}, arrays } = reply;
      await this.wire.send(encodeFrame({ type, id: message.id, fields, ...(arrays === undefined ? {} : { arrays }) }), idleTimeoutMs);
    }
  }

  async #greet({ type, id, fields }: LinkMessage): Promise<void> {
    const { token } = this.#options;
    if (type !== "HELLO") throw new Refusal("ORDER", `the first message is HELLO: received ${shown(type)}`);
    if (fields["version"] !== LINK_VERSION)
      throw new Refusal(
        "VERSION",
        `the server speaks version ${LINK_VERSION} of the link: received ${describeValue(fields["version"])}. Use the client of the same version of Shoal`,
      );
    if (token !== undefined && !isEqual(fields["token"], token))
      throw new Refusal("TOKEN", fields["token"] === undefined ? "a token is needed, and HELLO has none" : "the token of HELLO is wrong");
    await this.wire.send(encodeFrame({ type: "HELLO", id, fields: { version: LINK_VERSION } }), GREETING_WITHIN_MS);
  }

  /** @returns nothing where the client has left in the meantime */
  async #answerOrLeave(message: LinkMessage): Promise<Reply | undefined> {
    if (this.wire.isClosed) return undefined;
    const outcome = Promise.withResolvers<Reply | undefined>();
    this.#abandon = () => outcome.resolve(undefined);
    this.#answer(message).then(outcome.resolve, outcome.reject);
    return await outcome.promise;
  }

  async #answer(message: LinkMessage): Promise<Reply> {
    const { type } = message;
    if (type === "PING") return { type: "PONG" };
    if (type === "GET_CONFIG") return { type: "CONFIG", fields: { ...this.#options.config } };
    if (type === "HELLO") throw new Refusal("ORDER", "HELLO is the first message, and no later one");
    if (!isRequest(type)) throw new Refusal("ORDER", `a request is one of ${REQUESTS.join(", ")}: received ${shown(type)}`);
    return await this.#handler.answer(this, { ...message, type });
  }

  /** Tells the client why it is sent away. */
  async refuse(error: unknown): Promise<void> {
    const code: RefusalCode =
      error instanceof Refusal ? error.code : error instanceof SilentError ? "IDLE" : error instanceof FrameError ? "FRAME" : "CLOSING";
    const fields = { code, message: messageOf(error) };
    await this.wire.send(encodeFrame({ type: "ERROR", id: 0, fields }), GREETING_WITHIN_MS);
    this.wire.close();
  }
}

function isRequest(type: string): type is Request {
  return (REQUESTS as readonly string[]).includes(type);
}

const shown = (text: string): string => JSON.stringify(text.slice(0, SHOWN_TEXT_MAX));

/** Compares in a time that does not depend on the texts. */
function isEqual(given: unknown, token: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return typeof given === "string" && timingSafeEqual(digest(given), digest(token));
}
