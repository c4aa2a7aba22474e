/**
 * The simulated machine: virtual time, a queue of events, processes that die at any point, and the bytes under way between them.
 *
 * Everything that happens is an event of a process; the order of events follows from the seed alone. A connection keeps chunks in order,
 * but delays each by another time. A process that is killed runs no further event. Chunks written before are delivered, as a kernel would;
 * a kill can fall between two writes of one turn. Owns time, queue and trace; decides nothing about Shoal. Invariant: no event runs for a
 * process that is dead.
 */
import { Random } from "../soak/random.ts";
import type { UnreadFrames } from "../src/runtime/base/outbox.ts";
import type { Transport } from "../src/runtime/os/network/transport.ts";
import { type AmbientProcess, Finalizers, runAs, settle } from "./ambient.ts";

interface Scheduled {
  atMs: number;
  readonly order: number;
  readonly process: SimulatedProcess;
  action: (() => void) | undefined;
}

/** How chunks travel and what else goes wrong, drawn per run. */
interface Weather {
  /** Longest delay of a chunk; most take a tenth. */
  readonly delayMaxMs: number;
  /** Part of the chunks that arrive in two pieces. */
  readonly splits: number;
}

const TRACE_LINES = 4000;
/** Memory of a worker that runs nothing. */
const BASE_BYTES = 30e6;

export class World {
  readonly random: Random;
  readonly weather: Weather;
  readonly processes: SimulatedProcess[] = [];
  readonly trace: string[] = [];
  /** Broken invariants, the first first. */
  readonly violations: string[] = [];
  nowMs = 0;
  /** Part of the chunks that arrive while their reader is busy: it reads them together with what arrives soon after. */
  joins = 0;
  /** The process of the last event. */
  turnOf: SimulatedProcess | undefined;
  steps = 0;
  /** A number that two equal runs share: every event goes into it. */
  fingerprint = 0;
  /** Called after each event, with the process that it was of. */
  onStep: (process: SimulatedProcess) => void = () => {};
  #order = 0;
  readonly #heap: Scheduled[] = [];
  readonly #cuts = new Map<string, number>();
  readonly #pauses = new Map<string, number>();

  constructor(seed: number, weather: (random: Random) => Weather) {
    this.random = new Random(seed);
    this.weather = weather(this.random.fork());
  }

  /** @param machine on which it runs: connections from one machine to another can be cut */
  spawn(name: string, machine = ""): SimulatedProcess {
    const process = new SimulatedProcess(this, name, machine);
    this.processes.push(process);
    return process;
  }

  say(who: string, text: string): void {
    this.trace.push(`${this.nowMs.toFixed(2).padStart(10)} ${who.padEnd(7)} ${text}`);
    if (this.trace.length > TRACE_LINES * 2) this.trace.splice(0, TRACE_LINES);
  }

  violate(text: string): void {
    this.violations.push(text);
    this.say("!!", text);
  }

  schedule(process: SimulatedProcess, delayMs: number, action: () => void): { cancel(): void } {
    return this.scheduleAt(process, this.nowMs + Math.max(0, delayMs), action);
  }

  /** Events that must keep their order name the same moment: a delay until then, counted from another now, is rounded to another moment. */
  scheduleAt(process: SimulatedProcess, atMs: number, action: () => void): { cancel(): void } {
    const scheduled: Scheduled = { atMs, order: this.#order, process, action };
    this.#order += 1;
    this.#push(scheduled);
    return {
      cancel: () => {
        scheduled.action = undefined;
      },
    };
  }

  /** Runs until `isOver`, until nothing is left to happen, or until a bound is reached; says which. */
  async run(limits: { untilMs: number; steps: number; isOver: () => boolean }): Promise<"over" | "idle" | "late" | "long"> {
    for (let count = 0; count < limits.steps; count += 1) {
      await settle();
      if (this.violations.length > 0 || limits.isOver()) return "over";
      const next = this.#pop();
      if (next === undefined) return "idle";
      if (next.atMs > limits.untilMs) {
        this.#push(next);
        this.nowMs = limits.untilMs;
        return "late";
      }
      this.nowMs = next.atMs;
      const pausedMs = Math.max(this.#pauses.get(next.process.machine) ?? 0, next.process.busyUntilMs);
      if (pausedMs > next.atMs) {
        next.atMs = pausedMs;
        this.#push(next);
        continue;
      }
      this.steps += 1;
      this.fingerprint = (Math.imul(this.fingerprint, 31) + next.order + Math.round(next.atMs * 1000)) >>> 0;
      const { action, process } = next;
      this.turnOf = process;
      process.beginTurn();
      if (action !== undefined) process.run(action);
      await settle();
      process.endTurn();
      this.onStep(process);
    }
    return "long";
  }

  /** A connection between two processes. */
  connect(left: SimulatedProcess, right: SimulatedProcess): [Transport, Transport] {
    const near = new SimulatedTransport(this, left);
    const far = new SimulatedTransport(this, right);
    near.peer = far;
    far.peer = near;
    return [near, far];
  }

  /** Cuts two machines off from each other until then; chunks sent meanwhile arrive afterwards, as TCP sends them again. */
  cut(one: string, other: string, untilMs: number): void {
    this.#cuts.set(pairOf(one, other), untilMs);
  }

  /** The processes of a machine stand still until then, and go on as if no time had passed. */
  pause(machine: string, untilMs: number): void {
    this.#pauses.set(machine, Math.max(untilMs, this.#pauses.get(machine) ?? 0));
  }

  cutUntilMs(one: string, other: string): number {
    return one === other ? 0 : (this.#cuts.get(pairOf(one, other)) ?? 0);
  }

  delayMs(): number {
    const { delayMaxMs } = this.weather;
    return this.random.next() < 0.1 ? this.random.next() * delayMaxMs : this.random.next() * 0.1 * delayMaxMs;
  }

  #push(scheduled: Scheduled): void {
    const heap = this.#heap;
    let index = heap.push(scheduled) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(scheduled, heap[parent] as Scheduled)) break;
      heap[index] = heap[parent] as Scheduled;
      index = parent;
    }
    heap[index] = scheduled;
  }

  /** The next event that is still to happen. */
  #pop(): Scheduled | undefined {
    for (;;) {
      const first = this.#popFirst();
      if (first === undefined || (first.action !== undefined && first.process.isAlive)) return first;
    }
  }

  #popFirst(): Scheduled | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Scheduled, heap[child] as Scheduled)) child += 1;
      if (!isBefore(heap[child] as Scheduled, last)) break;
      heap[index] = heap[child] as Scheduled;
      index = child;
    }
    heap[index] = last;
    return first;
  }
}

function pairOf(one: string, other: string): string {
  return one < other ? `${one} ${other}` : `${other} ${one}`;
}

function isBefore(left: Scheduled, right: Scheduled): boolean {
  return left.atMs < right.atMs || (left.atMs === right.atMs && left.order < right.order);
}

/** A point of a turn at which a process can die. */
interface Moment {
  /** How many writes of the turn had been made. */
  readonly writes: number;
  /** How many calls of the turn had been marked. */
  readonly marks: number;
  readonly unread: readonly UnreadFrames[];
}

/** How a process ended, and what it left behind. */
interface Death {
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  /** The rest in its outboxes. */
  readonly unread: readonly UnreadFrames[];
  /** Connections, named by their leases, each with the call that began last. */
  readonly begun: readonly [leaseId: number, callId: number][] | undefined;
}

interface Write {
  /** When the process had made it: a process that computes is ahead of the world. */
  readonly atMs: number;
  cancel(): void;
}

export class SimulatedProcess implements AmbientProcess {
  readonly world: World;
  readonly name: string;
  readonly machine: string;
  readonly finalizers: Finalizers = new Finalizers();
  isAlive = true;
  /** When it ended. */
  diedMs: number = Number.POSITIVE_INFINITY;
  /** The node has ended it: for a cancellation, for memory, or because its caller is gone. */
  wasEndedByNode = false;
  /** Memory that the program in it has taken. */
  usedBytes = 0;
  /** The variable that its runtime environment sets; undefined in the default one. */
  setting: string | undefined;
  runtime: unknown = undefined;
  /** Called once, after the process has ended. */
  onDeath: (death: Death) => void = () => {};
  /** Until then it computes, and attends to nothing. */
  busyUntilMs = 0;
  /** Reads its outboxes; absent where it has none. */
  readOutbox: (() => readonly UnreadFrames[]) | undefined;
  readonly #ends = new Set<SimulatedTransport>();
  /** Writes since the current turn began, or since something was seen, in order. */
  #written: Write[] = [];
  /** Writes of this turn behind a computation that has not ended. */
  #ahead: Write[] = [];
  /** Computations of this turn, each with the rest in the outboxes at its beginning. */
  #computations: { readonly atMs: number; readonly unread: readonly UnreadFrames[] }[] = [];
  /** The points of this turn at which its outboxes looked otherwise than now. */
  #moments: Moment[] = [];
  #marked: [leaseId: number, callId: number | undefined][] = [];
  readonly #begun = new Map<number, number>();
  /** Whether the world knows which call of the process began last. */
  marksCalls = false;
  /** The process dies at this point once the turn is over. The rest of the turn never happened. */
  #doom: Moment | undefined;
  #diesInTurn = false;

  constructor(world: World, name: string, machine: string) {
    this.world = world;
    this.name = name;
    this.machine = machine;
  }

  nowMs(): number {
    return Math.max(this.world.nowMs, this.busyUntilMs);
  }

  /** Runs code for so long without a pause. */
  compute(ms: number): void {
    const atMs = this.nowMs();
    this.#computations.push({ atMs, unread: this.readOutbox?.() ?? [] });
    this.busyUntilMs = atMs + ms;
  }

  run<T>(body: () => T): T {
    return runAs(this, body);
  }

  schedule(delayMs: number, action: () => void): { cancel(): void } {
    return this.world.scheduleAt(this, this.nowMs() + Math.max(0, delayMs), action);
  }

  scheduleAt(atMs: number, action: () => void): { cancel(): void } {
    return this.world.scheduleAt(this, atMs, action);
  }

  say(text: string): void {
    this.world.say(this.name, text);
  }

  /** Shoal prints where it meets something that must not be. */
  printed(text: string): void {
    this.say(`printed: ${text.trim()}`);
    if (/could not be handled|Unhandled|ended a connection of/.test(text)) this.world.violate(`${this.name} printed: ${text.trim()}`);
  }

  exit(code: number): void {
    if (!this.isAlive) return;
    this.say(`exits with ${code}`);
    this.#end({ exitCode: code, signal: undefined }, this.#moment());
  }

  /** SIGKILL. With `midTurn` it came at some point of the turn that is just over, and what the process did behind that was never done. */
  kill(options: { midTurn: boolean } = { midTurn: false }): void {
    if (!this.isAlive) return;
    const { random } = this.world;
    const now = this.#moment();
    if (!options.midTurn) this.#killAt(now);
    else if (this.readOutbox !== undefined) this.#killAt(random.pick([...this.#moments, now]));
    else this.#killAt({ ...now, writes: this.#written.length - random.below(this.#written.length + 1) });
  }

  #killAt(moment: Moment): void {
    const unsent = this.#written.length - moment.writes;
    const left = moment.unread.reduce((sum, { bytes }) => sum + bytes.length, 0);
    this.say(
      `is killed${unsent === 0 ? "" : ` before its last ${unsent} writes`}${left === 0 ? "" : `, with ${left} bytes in its outboxes`}`,
    );
    for (const write of this.#written.slice(moment.writes)) write.cancel();
    for (const [leaseId, before] of this.#marked.slice(moment.marks).toReversed()) {
      if (before === undefined) this.#begun.delete(leaseId);
      else this.#begun.set(leaseId, before);
    }
    this.#end({ exitCode: undefined, signal: "SIGKILL" }, moment);
  }

  beginTurn(): void {
    this.#ahead = [];
    this.#computations = [];
    this.acts();
  }

  endTurn(): void {
    if (!this.isAlive) return;
    if (this.#doom !== undefined) this.#killAt(this.#doom);
    else if (this.#diesInTurn) this.kill({ midTurn: true });
  }

  /** The program does something that is seen: the process dies at no point before it. */
  acts(): void {
    this.#written = [];
    this.#moments = [];
    this.#marked = [];
  }

  /** Notes a point at which the process could die, before its outboxes or its writes change. */
  passes(): void {
    if (this.readOutbox !== undefined && this.#doom === undefined) this.#moments.push(this.#moment());
  }

  /** The program ends its process here and now. */
  diesHere(): void {
    this.#doom ??= this.#moment();
  }

  /** The program ends its process at some later point of the turn. */
  diesInTurn(): void {
    this.#diesInTurn = true;
  }

  /** Whether it has died in this turn, whose rest is not to be seen. */
  get isDoomed(): boolean {
    return this.#doom !== undefined;
  }

  /** A call of a connection begins. */
  marks(leaseId: number, callId: number): void {
    this.#marked.push([leaseId, this.#begun.get(leaseId)]);
    this.#begun.set(leaseId, callId);
  }

  #moment(): Moment {
    return { writes: this.#written.length, marks: this.#marked.length, unread: this.readOutbox?.() ?? [] };
  }

  wrote(write: Write): void {
    this.#written.push(write);
    if (write.atMs > this.world.nowMs) this.#ahead.push(write);
  }

  opened(end: SimulatedTransport): void {
    this.#ends.add(end);
  }

  closed(end: SimulatedTransport): void {
    this.#ends.delete(end);
  }

  get memoryBytes(): number {
    return BASE_BYTES + this.usedBytes;
  }

  /** How many connections it has. */
  get connectionCount(): number {
    return this.#ends.size;
  }

  /** Breaks a connection to a process, or to one on another machine. @returns that process; undefined when there is none */
  breakConnection(options: { toOtherMachines: boolean; sparesNode: boolean }): SimulatedProcess | undefined {
    const isNode = ({ name, machine }: SimulatedProcess): boolean => name === machine;
    const ends = Array.from(this.#ends).filter(({ peerProcess }) => {
      if (options.sparesNode && (isNode(this) || isNode(peerProcess))) return false;
      return !options.toOtherMachines || peerProcess.machine !== this.machine;
    });
    if (ends.length === 0) return undefined;
    const end = this.world.random.pick(ends);
    end.breaks();
    return end.peerProcess;
  }

  #end(exit: { exitCode: number | undefined; signal: string | undefined }, moment: Moment): void {
    this.isAlive = false;
    const { nowMs, turnOf } = this.world;
    // Killed by another process in the middle of a computation: the rest of the turn never happens.
    const computation = turnOf === this ? undefined : this.#computations.findLast(({ atMs }) => atMs <= nowMs);
    const isComputing = computation !== undefined && this.busyUntilMs > nowMs;
    if (isComputing) for (const write of this.#ahead) if (write.atMs > nowMs) write.cancel();
    const { unread } = isComputing ? computation : moment;
    this.diedMs = isComputing ? nowMs : this.nowMs();
    for (const end of this.#ends) end.abandoned();
    this.#ends.clear();
    this.onDeath({ ...exit, unread, begun: this.marksCalls ? Array.from(this.#begun) : undefined });
  }
}

class SimulatedTransport implements Transport {
  readonly channel = "test";
  onChunk: (chunk: Buffer) => void = () => {};
  onClose: (reason: string, isWhole: boolean) => void = () => {};
  onDrain: () => void = () => {};
  readonly pendingBytes = 0;
  peer!: SimulatedTransport;
  readonly #world: World;
  readonly #process: SimulatedProcess;
  #isClosed = false;
  #isEnded = false;
  /** When the last chunk on its way to the peer arrives. */
  #lastMs = 0;
  /** Arrived chunks that the busy reader has not read. */
  #arrived: Buffer[] = [];

  constructor(world: World, process: SimulatedProcess) {
    this.#world = world;
    this.#process = process;
    process.opened(this);
  }

  write(chunk: Uint8Array): void {
    if (this.#isClosed || this.#isEnded || !this.#process.isAlive) return;
    const bytes = Buffer.from(chunk);
    const { random, weather } = this.#world;
    this.#process.passes();
    if (bytes.length > 1 && random.next() < weather.splits) {
      const at = 1 + random.below(bytes.length - 1);
      this.#deliver(bytes.subarray(0, at));
      this.#deliver(bytes.subarray(at));
    } else {
      this.#deliver(bytes);
    }
    this.#process.passes();
  }

  /** Writes nothing any more; chunks of the peer still come, until the peer has closed its end. */
  end(): void {
    if (this.#isClosed || this.#isEnded) return;
    this.#isEnded = true;
    this.peer.#process.scheduleAt(this.#arrival(), () => this.peer.#endArrives({ isAnswered: true }));
  }

  destroy(): void {
    if (this.#isClosed) return;
    this.#close();
    this.#process.schedule(0, () => this.onClose("the connection was closed", true));
    this.#tellPeer();
  }

  /** The end of a dead process. */
  abandoned(): void {
    this.#isClosed = true;
    this.#tellPeer();
  }

  setKeepsProcessAlive(): void {}

  get peerProcess(): SimulatedProcess {
    return this.peer.#process;
  }

  /** The network breaks it: each end learns it for itself, and what is under way is lost. */
  breaks(): void {
    for (const end of [this, this.peer]) {
      if (end.#isClosed) continue;
      end.#close();
      end.#process.schedule(end.#world.delayMs(), () => end.onClose("the connection was reset", false));
    }
  }

  #endArrives({ isAnswered }: { isAnswered: boolean }): void {
    if (this.#isClosed) return;
    if (this.#arrived.length > 0) {
      // The handlers of the last chunk run to their end first.
      this.#read();
      this.#process.schedule(0, () => this.#endArrives({ isAnswered }));
      return;
    }
    this.#close();
    this.onClose("the connection was closed", true);
    if (isAnswered) this.#tellPeer();
  }

  #close(): void {
    this.#isClosed = true;
    this.#process.closed(this);
  }

  #deliver(bytes: Buffer): void {
    const peer = this.peer;
    const arrival = this.#arrival();
    const { cancel } = peer.#process.scheduleAt(arrival, () => {
      if (!peer.#isClosed) peer.#arrives(bytes);
    });
    this.#process.wrote({ atMs: this.#process.nowMs(), cancel });
  }

  #arrives(bytes: Buffer): void {
    const world = this.#world;
    const isFirst = this.#arrived.length === 0;
    if (isFirst && (world.joins === 0 || world.random.next() >= world.joins)) {
      this.onChunk(bytes);
      return;
    }
    this.#arrived.push(bytes);
    if (isFirst) this.#process.schedule(world.delayMs(), () => this.#read());
  }

  /** Hands out all arrived chunks as one. */
  #read(): void {
    const arrived = this.#arrived.splice(0);
    if (arrived.length > 0 && !this.#isClosed) this.onChunk(Buffer.concat(arrived));
  }

  #tellPeer(): void {
    this.peer.#process.scheduleAt(this.#arrival(), () => this.peer.#endArrives({ isAnswered: false }));
  }

  /** When now's bytes arrive: after all that went before. */
  #arrival(): number {
    const world = this.#world;
    const cutMs = world.cutUntilMs(this.#process.machine, this.peer.#process.machine);
    this.#lastMs = Math.max(this.#lastMs, Math.max(this.#process.nowMs(), cutMs) + world.delayMs());
    return this.#lastMs;
  }
}
