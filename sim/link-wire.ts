/**
 * Wires for tests of node links: connections whose bytes move, and break, when the test says so, time that does too, and the ends of a link on them.
 *
 * Stands for sockets and timers below the real `NodeLink`; opens no socket and sleeps never. Used by tests that plan each step and by those
 * that a seed decides. Invariant: a chunk is overwritten right after its receiver has read it, as a socket's memory is.
 */
import type { NodeId, ProcessId } from "../src/runtime/base/ids.ts";
import { loopbackPair, type Transport } from "../src/runtime/os/network/transport.ts";
import { acceptPeer } from "../src/runtime/rpc/handshake.ts";
import { type LinkTimers, NodeLink, type NodeLinkOptions } from "../src/runtime/rpc/node-link.ts";
import { decodeHeader } from "../src/runtime/wire/header.ts";
import type { LinkHelloHeader } from "../src/runtime/wire/messages.ts";

const TOKEN = "the cluster's";
export const NODE_A = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" as NodeId;
export const NODE_B = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb" as NodeId;

export const HELLO: LinkHelloHeader = {
  nodeId: NODE_A,
  processId: "" as ProcessId,
  kind: "daemon",
  incarnation: "a1",
  to: undefined,
  peerIncarnation: undefined,
  delivered: 0,
  oldest: 1,
};

/** Time that passes when the test says so. */
export class Clock implements LinkTimers {
  now = 0;
  readonly #timers = new Set<{ at: number; callback: () => void }>();

  set(callback: () => void, ms: number): unknown {
    const timer = { at: this.now + ms, callback };
    this.#timers.add(timer);
    return timer;
  }

  clear(timer: unknown): void {
    this.#timers.delete(timer as { at: number; callback: () => void });
  }

  get count(): number {
    return this.#timers.size;
  }

  async pass(ms: number): Promise<void> {
    await settled();
    const end = this.now + ms;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= end).toSorted((left, right) => left.at - right.at)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.now = Math.max(this.now, due.at);
      due.callback();
      await settled();
    }
    this.now = end;
    await settled();
  }
}

/** All microtasks and ticks that were waiting have run, also those that they made. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** A stream whose bytes wait until they are let through, a few at a time, and that can break with some of them under way. */
export class Pipe {
  readonly ends: [PipeEnd, PipeEnd];
  isBroken = false;

  constructor() {
    this.ends = [new PipeEnd(this), new PipeEnd(this)];
  }

  /** Lets up to `bytes` arrive at one end. */
  deliver(to: 0 | 1, bytes: number = Number.POSITIVE_INFINITY): boolean {
    const queue = this.ends[(1 - to) as 0 | 1].sent;
    const whole = Buffer.concat(queue.splice(0));
    if (whole.length === 0 || this.isBroken) return false;
    const chunk = Buffer.from(whole.subarray(0, bytes));
    if (chunk.length < whole.length) queue.push(whole.subarray(chunk.length));
    this.ends[to].onChunk(chunk);
    // The memory is used again, as a socket's is.
    chunk.fill(0xee);
    return true;
  }

  break(): void {
    if (this.isBroken) return;
    this.isBroken = true;
    for (const end of this.ends) end.onClose("the wire broke", false);
  }
}

class PipeEnd implements Transport {
  readonly channel = "test";
  onChunk: (chunk: Buffer) => void = () => {};
  onClose: (reason: string, isWhole: boolean) => void = () => {};
  onDrain: () => void = () => {};
  readonly pendingBytes = 0;
  sent: Buffer[] = [];
  readonly #pipe: Pipe;

  constructor(pipe: Pipe) {
    this.#pipe = pipe;
  }

  write(chunk: Uint8Array): void {
    this.sent.push(Buffer.from(chunk));
  }

  end(): void {
    // Chunks written before still arrive.
    this.#pipe.deliver(this.#pipe.ends[0] === this ? 1 : 0);
    this.destroy();
  }

  destroy(): void {
    queueMicrotask(() => this.#pipe.break());
  }

  setKeepsProcessAlive(): void {}
}

/** An end of a link: its received messages, and the address where peers reach it. */
export class End {
  readonly received: unknown[] = [];
  readonly ups: boolean[] = [];
  readonly downs: string[] = [];
  readonly nodeId: NodeId;
  readonly incarnation: string;
  link!: NodeLink;

  constructor(nodeId: NodeId, incarnation: string) {
    this.nodeId = nodeId;
    this.incarnation = incarnation;
  }

  make(options: Partial<NodeLinkOptions> & { timers: LinkTimers }): this {
    this.link = new NodeLink({
      self: { nodeId: this.nodeId, processId: `${this.nodeId.slice(0, 16)}0000000000000000` as ProcessId, incarnation: this.incarnation },
      token: TOKEN,
      onFrame: (frame, acknowledge) => {
        this.received.push(decodeHeader(frame.header));
        acknowledge();
      },
      onUp: ({ isNew }) => this.ups.push(isNew),
      onDown: ({ message }) => this.downs.push(message),
      ...options,
    });
    return this;
  }

  accept(transport: Transport): void {
    acceptPeer(transport, {
      token: TOKEN,
      nodeId: this.nodeId,
      processId: `${this.nodeId.slice(0, 16)}0000000000000000` as ProcessId,
      onPeer: () => {},
      onLink: (arrived, hello) => this.link.accept(arrived, hello),
    });
  }
}

interface LinkPair {
  readonly timers: Clock;
  /** A's ends of the connections, in their order. */
  readonly wires: Transport[];
  readonly a: End;
  readonly b: End;
  readonly connect: () => Promise<Transport>;
  /** Sets the end that A reaches from now on. */
  readonly setTarget: (end: End) => void;
}

/** Two ends, of which A connects to B over a loopback pair that the test can break. */
export function pair(options: { a?: Partial<NodeLinkOptions>; b?: Partial<NodeLinkOptions> } = {}): LinkPair {
  const timers = new Clock();
  const wires: Transport[] = [];
  const b = new End(NODE_B, "b1").make({ timers, ...options.b });
  let target = b;
  const connect = async (): Promise<Transport> => {
    const [near, far] = loopbackPair();
    wires.push(near);
    target.accept(far);
    return near;
  };
  const a = new End(NODE_A, "a1").make({ timers, connect, peerNodeId: NODE_B, ...options.a });
  return { timers, wires, a, b, connect, setTarget: (end) => (target = end) };
}
