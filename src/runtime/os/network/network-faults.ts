/**
 * Simulates silence between hosts of test clusters, as when the network between them is cut.
 *
 * Active only in a process that was started with it (`SHOAL_NETWORK_FAULTS`, which names its host and a file) or that belongs to such a
 * node. The file lists which host does not hear which. Each process reads it twenty times a second, and before it sends or takes anything
 * after a longer pause. So a process that was busy or stopped while the file was written handles nothing by the old state. A connection
 * that is cut stands still. Sent data is kept until the cut ends, neither data nor the end of the other side is noticed meanwhile, and a
 * new connection gets no answer. Without it `tcp-transport.ts` finds `undefined` once a connection, and nothing else differs.
 */
import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import type net from "node:net";
import type { NodeId } from "../../base/ids.ts";
import { isLoopbackHost } from "./network-address.ts";
import type { Transport } from "./transport.ts";

const VARIABLE = "SHOAL_NETWORK_FAULTS";
/** Traffic later than this after a change obeys it, however busy the machine is. */
const NETWORK_FAULTS_EVERY_MS = 50;

/** Messages of one host do not reach the other. */
export type Silence = readonly [from: string, to: string];

export interface NetworkFaultsPlace {
  /** Host by which the others know this process; its connections come from there. */
  readonly host: string;
  readonly file: string;
}

export class NetworkFaults {
  readonly place: NetworkFaultsPlace;
  readonly #timer: NodeJS.Timeout;
  readonly #waiting = new Set<() => void>();
  readonly #connections = new Set<CuttableTransport>();
  #silent = new Set<string>();
  #seen = "";
  readonly #nowMs: () => number;
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(place: NetworkFaultsPlace, nowMs: () => number = () => performance.now()) {
    this.place = place;
    this.#nowMs = nowMs;
    this.#timer = setInterval(() => this.#look(), NETWORK_FAULTS_EVERY_MS);
    this.#timer.unref();
    this.#look();
  }

  /** Returns the local address for connections to a host, by which the host identifies them. */
  localAddressFor(host: string): string | undefined {
    return isLoopbackHost(host) ? this.place.host : undefined;
  }

  hears(peer: string): boolean {
    return !this.#silent.has(`${peer} ${this.place.host}`);
  }

  reaches(peer: string): boolean {
    return !this.#silent.has(`${this.place.host} ${peer}`);
  }

  /** Before anything is sent or taken. */
  refresh(): void {
    if (this.#nowMs() - this.#lookedMs >= NETWORK_FAULTS_EVERY_MS) this.#look();
  }

  /** Whether both ends hear each other, by the file's present content. */
  isConnected(peer: string): boolean {
    this.#look();
    return this.hears(peer) && this.reaches(peer);
  }

  /** Resolves when both ends hear each other again; rejects after a time. */
  afterCut(peer: string, withinMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(check);
      };
      const check = (): void => {
        if (!this.hears(peer) || !this.reaches(peer)) return;
        end();
        resolve();
      };
      const timer = setTimeout(() => {
        end();
        reject(new Error(`no answer within ${withinMs} ms`));
      }, withinMs);
      this.#waiting.add(check);
    });
  }

  /** Wraps a connection so that it stands still while it is cut. */
  cuttable(socket: net.Socket, transport: Transport): Transport {
    const peer = socket.remoteAddress ?? "";
    this.refresh();
    const cuttable = new CuttableTransport({ faults: this, socket, inner: transport, peer });
    this.#connections.add(cuttable);
    cuttable.update();
    return cuttable;
  }

  forget(connection: CuttableTransport): void {
    this.#connections.delete(connection);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#lookedMs = Number.POSITIVE_INFINITY;
    this.#silent.clear();
    this.#tell();
  }

  #tell(): void {
    for (const listener of Array.from(this.#waiting)) listener();
    for (const connection of Array.from(this.#connections)) connection.update();
  }

  #look(): void {
    const { file } = this.place;
    this.#lookedMs = this.#nowMs();
    try {
      const { mtimeNs, ino } = statSync(file, { bigint: true });
      const seen = `${mtimeNs} ${ino}`;
      if (seen === this.#seen) return;
      this.#seen = seen;
      this.#silent = new Set((JSON.parse(readFileSync(file, "utf8")) as Silence[]).map(([from, to]) => `${from} ${to}`));
    } catch {
      // No file: the cluster has ended, or nothing was ever cut.
      if (this.#silent.size === 0) return;
      this.#silent.clear();
    }
    // Not in the same call: code that sends or takes data must not find another connection resuming in between.
    queueMicrotask(() => this.#tell());
  }
}

const ignore = (): void => {};

interface CuttableOptions {
  faults: NetworkFaults;
  socket: net.Socket;
  inner: Transport;
  peer: string;
}

class CuttableTransport implements Transport {
  onChunk: (chunk: Buffer) => void = ignore;
  onClose: (reason: string, isWhole: boolean) => void = ignore;
  onDrain: () => void = ignore;
  readonly certifiedNodeId: NodeId | undefined;
  readonly remoteAddress: string | undefined;
  readonly channel: string;
  readonly #options: CuttableOptions;
  #hears = true;
  /** Data that the kernel delivered during a cut. */
  readonly #unheard: Buffer[] = [];
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #isEnding = false;
  #isDestroyed = false;
  /** The kernel reports at once when the other end has reset the connection. */
  #unheardEnd: { reason: string; isWhole: boolean } | undefined;

  constructor(options: CuttableOptions) {
    this.#options = options;
    const { inner } = options;
    this.certifiedNodeId = inner.certifiedNodeId;
    this.remoteAddress = inner.remoteAddress;
    this.channel = inner.channel;
    inner.onChunk = (chunk) => {
      // The reader's memory is used again for the next chunk.
      if (!this.#mayHear() || this.#unheard.length > 0) this.#unheard.push(Buffer.from(chunk));
      else this.onChunk(chunk);
    };
    inner.onClose = (reason, isWhole) => {
      if (this.#isDestroyed || (this.#mayHear() && this.#hears)) {
        options.faults.forget(this);
        this.onClose(reason, isWhole);
      } else this.#unheardEnd = { reason, isWhole };
    };
    inner.onDrain = () => {
      if (this.#maySend()) this.onDrain();
    };
  }

  #mayHear(): boolean {
    const { faults, peer } = this.#options;
    faults.refresh();
    return faults.hears(peer);
  }

  /** Held data goes first. */
  #maySend(): boolean {
    const { faults, peer } = this.#options;
    faults.refresh();
    return faults.reaches(peer) && this.#held.length === 0;
  }

  update(): void {
    const { faults, socket, inner, peer } = this.#options;
    const hears = faults.hears(peer);
    if (hears !== this.#hears) {
      this.#hears = hears;
      // The kernel's buffer fills, and the end of the other side is behind the buffered data.
      if (hears) socket.resume();
      else socket.pause();
    }
    while (this.#unheard.length > 0 && faults.hears(peer)) this.onChunk(this.#unheard.shift() as Buffer);
    if (hears && this.#unheardEnd !== undefined) {
      this.#over();
      return;
    }
    if (!faults.reaches(peer)) return;
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    for (const chunk of held) inner.write(chunk);
    if (this.#isEnding) inner.end();
    else if (held.length > 0 && inner.pendingBytes === 0) this.onDrain();
  }

  #over(): void {
    const { reason, isWhole } = this.#unheardEnd ?? { reason: "", isWhole: false };
    this.#unheardEnd = undefined;
    this.#options.faults.forget(this);
    queueMicrotask(() => this.onClose(reason, isWhole));
  }

  get pendingBytes(): number {
    return this.#options.inner.pendingBytes + this.#heldBytes;
  }

  write(chunk: Uint8Array): void {
    if (this.#maySend()) {
      this.#options.inner.write(chunk);
      return;
    }
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
  }

  end(): void {
    this.#isEnding = true;
    if (this.#maySend()) this.#options.inner.end();
  }

  destroy(): void {
    this.#held = [];
    this.#heldBytes = 0;
    this.#unheard.length = 0;
    this.#isDestroyed = true;
    if (this.#unheardEnd === undefined) this.#options.inner.destroy();
    else this.#over();
  }

  setKeepsProcessAlive(keeps: boolean): void {
    this.#options.inner.setKeepsProcessAlive(keeps);
  }

  begun(): void {
    this.#options.inner.begun?.();
  }

  identified(): void {
    this.#options.inner.identified?.();
  }
}

let own = fromEnvironment();

/** Faults of this process; undefined except in test clusters. */
export function networkFaults(): NetworkFaults | undefined {
  return own;
}

/** For a driver, which is at the host of the node that it hangs on. */
export function useNetworkFaults(place: NetworkFaultsPlace | undefined): void {
  if (own?.place.host === place?.host && own?.place.file === place?.file) return;
  own?.close();
  own = place === undefined ? undefined : new NetworkFaults(place);
}

/** Variables for a process in the simulation; its children inherit them. */
export function networkFaultsEnvironment({ host, file }: NetworkFaultsPlace): Record<string, string> {
  return { [VARIABLE]: `${host} ${file}` };
}

/** Whether each process of this machine can listen at a separate address of 127.0.0.0/8 without configuration. */
export function hasManyLoopbackHosts(): boolean {
  return process.platform === "linux";
}

/**
 * Changes the silences of all processes that were started with this file. Resolves when all later traffic obeys them, even that of busy or
 * stopped processes, as all look before they send or take anything, unless they have looked since.
 */
export async function writeSilences(file: string, silences: readonly Silence[]): Promise<void> {
  writeFileSync(`${file}.new`, JSON.stringify(silences), { mode: 0o600 });
  renameSync(`${file}.new`, file);
  // No timer is early by as much again.
  await new Promise((resolve) => setTimeout(resolve, 2 * NETWORK_FAULTS_EVERY_MS));
}

function fromEnvironment(): NetworkFaults | undefined {
  const [host, file] = process.env[VARIABLE]?.split(" ") ?? [];
  return host === undefined || file === undefined ? undefined : new NetworkFaults({ host, file });
}
