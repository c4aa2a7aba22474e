/**
 * Tells the head each second that this node lives, and hears whether the head knows it to.
 *
 * A question that nobody answers is given up once its answer would be of no use to who counts from when it was sent (`self-fence.ts`), and asked anew; while the link is down there is nothing to ask. `onAnswered` gets the time at which the question was sent, since what the head
 * knew then is all that an answer proves. Made by the node's membership.
 */
import { FENCE_AFTER_MS, HEARTBEAT_EVERY_MS } from "../../base/limits.ts";
import type { PeerConnection } from "../../rpc/peer-connection.ts";
import type { HeartbeatReply } from "../../wire/cluster-messages.ts";
import { MESSAGE } from "../../wire/messages.ts";

interface HeartbeatOptions {
  readonly link: Pick<PeerConnection, "request"> & { readonly isUp: boolean };
  readonly onAnswered?: (sentMs: number, reply: HeartbeatReply | undefined) => void;
}

export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.#beat(), HEARTBEAT_EVERY_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    const { link, onAnswered } = this.#options;
    if (!link.isUp) return;
    const sentMs = performance.now();
    link.request(MESSAGE.HEARTBEAT, undefined, { timeoutMs: FENCE_AFTER_MS }).then(
      ({ header }) => onAnswered?.(sentMs, header),
      () => {},
    );
  }
}
