/**
 * A small file in which the daemon of a cluster node grants its workers time to run. Until then no other node runs their actors.
 *
 * A stopped daemon (SIGSTOP, a debugger) cannot end its workers before other nodes take over their work, so workers check for themselves. A worker whose lease
 * has expired blocks its thread until the daemon renews the lease, and ends after `EXECUTION_LEASE_GIVES_UP_MS`. It checks when the lease expires and before it
 * reads anything; otherwise a check costs one comparison per chunk. All workers share the file, so a renewal is one write. Daemon and workers use the machine's
 * monotonic clock. Invariant: workers run while the file holds no limit, which is so until a head has admitted the node.
 */
import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { WORKER_GRACE_MS } from "../../../base/limits.ts";
import { EXECUTION_LEASE_GIVES_UP_MS, EXECUTION_LEASE_LOOK_EVERY_MS, EXECUTION_LEASE_LOOK_WITHOUT_LIMIT_EVERY_MS } from "../../limits.ts";
import { blockFor } from "./interruptible.ts";
import type { Transport } from "../../network/transport.ts";

const SIZE = 8;

/** From this process's clock to the one that all processes of the machine share; asking that one directly costs more. */
const SHARED_AHEAD_MS = Number(process.hrtime.bigint()) / 1e6 - performance.now();

function machineMs(): number {
  return performance.now() + SHARED_AHEAD_MS;
}

/** The daemon's side of the file, which is in a folder that the daemon removes at its end. */
export class DaemonExecutionLease {
  readonly #fd: number;
  readonly #bytes = Buffer.alloc(SIZE);
  #untilMs = Infinity;

  constructor(path: string) {
    this.#fd = openSync(path, "wx+", 0o600);
    this.#write(Infinity);
  }

  /** @param untilMs on the clock of `performance.now()` */
  allow(untilMs: number): void {
    if (untilMs === this.#untilMs) return;
    this.#untilMs = untilMs;
    this.#write(untilMs + SHARED_AHEAD_MS);
  }

  close(): void {
    closeSync(this.#fd);
  }

  #write(untilMs: number): void {
    this.#bytes.writeDoubleLE(untilMs, 0);
    writeSync(this.#fd, this.#bytes, 0, SIZE, 0);
  }
}

interface WorkerExecutionLeaseOptions {
  /** The daemon has made the file. */
  readonly path: string;
  /** Ends this process at once; not called twice. */
  readonly end: (reason: string) => void;
  readonly nowMs?: () => number;
  /** Blocks this thread. */
  readonly block?: (ms: number) => void;
}

/** The worker's side of the file. */
export class WorkerExecutionLease {
  readonly #fd: number;
  readonly #end: (reason: string) => void;
  readonly #nowMs: () => number;
  readonly #block: (ms: number) => void;
  readonly #bytes = Buffer.alloc(SIZE);
  #limitMs: number;

  constructor({ path, end, nowMs = machineMs, block = blockFor }: WorkerExecutionLeaseOptions) {
    this.#fd = openSync(path, "r");
    this.#end = end;
    this.#nowMs = nowMs;
    this.#block = block;
    this.#limitMs = this.#read();
  }

  /** Looks again and again, without keeping the process alive. */
  watch(): void {
    const timer = setTimeout(() => {
      if (this.#limitMs === Infinity) this.#limitMs = this.#read();
      this.check();
      this.watch();
    }, this.#nextLookMs());
    timer.unref();
  }

  /** Returns when this process may run. */
  check(): void {
    const nowMs = this.#nowMs();
    if (nowMs < this.#limitMs) return;
    this.#limitMs = this.#read();
    if (nowMs >= this.#limitMs) this.#standStill(nowMs);
  }

  #nextLookMs(): number {
    return this.#limitMs === Infinity ? EXECUTION_LEASE_LOOK_WITHOUT_LIMIT_EVERY_MS : Math.max(0, this.#limitMs - this.#nowMs());
  }

  #standStill(sinceMs: number): void {
    while (this.#nowMs() >= this.#limitMs) {
      if (this.#nowMs() - sinceMs >= EXECUTION_LEASE_GIVES_UP_MS) {
        this.#end("its daemon has not answered for too long, and other nodes may have taken over its work");
        return;
      }
      this.#block(EXECUTION_LEASE_LOOK_EVERY_MS);
      this.#limitMs = this.#read();
    }
  }

  #read(): number {
    readSync(this.#fd, this.#bytes, 0, SIZE, 0);
    return this.#bytes.readDoubleLE(0) + WORKER_GRACE_MS;
  }
}

/** A transport from which nothing is read while this process may not run. */
export function leasedTransport(transport: Transport, lease: WorkerExecutionLease): Transport {
  return new LeasedTransport(transport, lease);
}

class LeasedTransport implements Transport {
  onChunk: (chunk: Buffer) => void = () => {};
  onClose: (reason: string, isWhole: boolean) => void = () => {};
  onDrain: () => void = () => {};
  readonly #inner: Transport;

  constructor(inner: Transport, lease: WorkerExecutionLease) {
    this.#inner = inner;
    inner.onChunk = (chunk) => {
      lease.check();
      this.onChunk(chunk);
    };
    inner.onClose = (reason, isWhole) => this.onClose(reason, isWhole);
    inner.onDrain = () => this.onDrain();
  }

  get pendingBytes(): number {
    return this.#inner.pendingBytes;
  }

  get channel(): string {
    return this.#inner.channel;
  }

  get certifiedNodeId(): Transport["certifiedNodeId"] {
    return this.#inner.certifiedNodeId;
  }

  get remoteAddress(): string | undefined {
    return this.#inner.remoteAddress;
  }

  write(chunk: Uint8Array): void {
    this.#inner.write(chunk);
  }

  end(): void {
    this.#inner.end();
  }

  destroy(): void {
    this.#inner.destroy();
  }

  setKeepsProcessAlive(keeps: boolean): void {
    this.#inner.setKeepsProcessAlive(keeps);
  }
}
