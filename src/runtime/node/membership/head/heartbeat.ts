/**
 * Tells the head each second that this node lives, and learns from the answers that the head knows it.
 *
 * An unanswered question is dropped and repeated once its answer would be too old for `self-fence.ts`, which counts from the sending. Nothing is asked while the link is
 * down. `onAnswered` gets the time at which the question was sent, because an answer proves only the head's knowledge of that time. The node's membership makes it.
 */
import { FENCE_AFTER_MS, HEARTBEAT_EVERY_MS } from "../../../base/limits.ts";
import type { PeerConnection } from "../../../rpc/peer-connection.ts";
import type { HeartbeatReply } from "../../../wire/cluster/cluster-messages.ts";
import { MESSAGE } from "../../../wire/messages.ts";

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
