/**
 * The heads that share a control plane: their addresses for nodes, and the check that a head started alone is alone.
 *
 * Heads that may take over from each other announce themselves each second; a silent one is dropped from the list. Each head answers with its identity, so that
 * a second head is refused before it claims anything: if either did not know of the other, nodes would believe both. Lives as long as the head's process.
 */
import { ShoalError } from "../../base/errors.ts";
import { formatAddress } from "../../os/network/network-address.ts";
import type { Bus, BusSubscription } from "../../control-plane/bus.ts";

export interface HeadIdentity {
  readonly id: string;
  /** Where nodes reach it. */
  readonly address: string;
  /** Whether others may take over from it. */
  readonly hasRivals: boolean;
}

const HEADS_SUBJECT = "ctl.heads";
const WHO_SUBJECT = "ctl.who";
const SAY_EVERY_MS = 1_000;
const FORGOTTEN_AFTER_MS = 60_000;
/** A head that is stopped does not answer; the next leader fences it. */
const ANSWERS_WITHIN_MS = 1_000;

/** @throws ShoalError if another head exists and the two may not run together */
export async function refuseOtherHead(bus: Bus, { address, hasRivals }: HeadIdentity): Promise<void> {
  let other: HeadIdentity;
  try {
    other = decode(await bus.request(WHO_SUBJECT, new Uint8Array(0), { timeoutMs: ANSWERS_WITHIN_MS }));
  } catch {
    // No head answers.
    return;
  }
  if (hasRivals && other.hasRivals) return;
  const at = formatAddress(other.address);
  const reason = hasRivals ? "a head without --ha leads this cluster" : "another head leads this cluster";
  throw new ShoalError(
    `Cannot start a head at ${formatAddress(address)}: one at ${at} keeps its tables in the same NATS${hasRivals ? ", and was started without --ha" : ""}.`,
    {
      reason,
      hint: "Heads that take over from each other are all started with --ha. For a cluster of its own give another --name.",
    },
  );
}

export class HeadPeers {
  readonly #bus: Bus;
  readonly #self: HeadIdentity;
  readonly #heardMs = new Map<string, number>();
  readonly #subscriptions: BusSubscription[] = [];
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #nowMs: () => number;

  constructor({ bus, self, nowMs }: { bus: Bus; self: HeadIdentity; nowMs: () => number }) {
    this.#bus = bus;
    this.#self = self;
    this.#nowMs = nowMs;
    this.#subscriptions.push(bus.respond(WHO_SUBJECT, () => encode(self)));
    if (!self.hasRivals) return;
    this.#subscriptions.push(bus.subscribe(HEADS_SUBJECT, (data) => this.#heardMs.set(decode(data).address, nowMs())));
    this.#timer = setInterval(() => this.#say(), SAY_EVERY_MS);
    this.#timer.unref();
    this.#say();
  }

  /** Lists this head's address first. */
  get addresses(): string[] {
    const nowMs = this.#nowMs();
    for (const [address, heardMs] of this.#heardMs) if (nowMs - heardMs > FORGOTTEN_AFTER_MS) this.#heardMs.delete(address);
    return Array.from(new Set([this.#self.address, ...this.#heardMs.keys()]));
  }

  close(): void {
    clearInterval(this.#timer);
    for (const subscription of this.#subscriptions) subscription.close();
  }

  #say(): void {
    this.#bus.publish(HEADS_SUBJECT, encode(this.#self));
  }
}

function encode(identity: HeadIdentity): Uint8Array {
  return Buffer.from(JSON.stringify(identity), "utf8");
}

function decode(data: Uint8Array): HeadIdentity {
  return JSON.parse(Buffer.from(data).toString("utf8")) as HeadIdentity;
}
