/**
 * A daemon that only pretends: a real link to a head, a registration, reports and signs of life as a real node's, and actors and leases that are there at once.
 *
 * Hundreds of them fit into one process, so a head can be shown a cluster that no single machine could run. Messages of the head are
 * counted, as a check that it told everybody. Used by the scale runs and by their test; the heartbeat is the only part taken from `node/`.
 */
import { type ActorId, newNodeId, newProcessId, type NodeId, type ProcessId } from "../src/runtime/base/ids.ts";
import { resourceVector } from "../src/runtime/base/resources.ts";
import { Heartbeat } from "../src/runtime/node/membership/head/heartbeat.ts";
import { randomHex } from "../src/runtime/os/random.ts";
import type { Transport } from "../src/runtime/os/network/transport.ts";

import { NodeLink } from "../src/runtime/rpc/node-link.ts";
import type {
  ActorToPlace,
  GroupPreparation,
  HeadEventHeader,
  LeaseAnswerHeader,
  LeaseAskHeader,
  NodeCommandHeader,
  NodeDigestHeader,
  NodeInfoHeader,
  NodeRegisterHeader,
  NodeReportHeader,
  RoutedHeader,
  WorkerFactsHeader,
} from "../src/runtime/wire/cluster/cluster-messages.ts";
import { type Frame, FRAME_FLAG } from "../src/runtime/wire/frame.ts";
import { decodeHeader } from "../src/runtime/wire/header.ts";
import {
  type ActorCreateHeader,
  type ActorStartHeader,
  type ActorStateHeader,
  MESSAGE,
  PROTOCOL_VERSION,
} from "../src/runtime/wire/messages.ts";
import { readWireError } from "../src/runtime/wire/wire-error.ts";

interface FakeDaemonOptions {
  readonly token: string;
  readonly connect: () => Promise<Transport>;
  readonly numCpus: number;
  /** Where it can be called: the head asks there whether a node has ended that it hears nothing of. Default: nowhere. */
  readonly address?: string;
  /**
   * Does not read the lists of other nodes: with ten thousand readers of ten thousand entries, the run would no longer measure the head.
   */
  readonly isDeaf?: boolean;
  /** Gives signs of life only where `beat` is called, for a head whose clock stands still. */
  readonly isStill?: boolean;
}

interface Heard {
  frames: number;
  joined: number;
  died: number;
  processesGone: number;
  /** Why its connection broke last, other than by its own will. */
  broken: string | undefined;
}

type Answer = { resolve: (header: unknown) => void; reject: (error: Error) => void };

const NOTHING = new Uint8Array(0);
/** A port that refuses connections. */
const NOWHERE = "tcp://127.0.0.1:1";
const DEAF_BYTES = 20_000;
/** As a real node's, in a small cluster. */
const REPORT_AFTER_MS = 50;
const NO_ARGUMENTS: ActorCreateHeader["args"] = {
  inBand: 0,
  buffers: [],
  graph: false,
  error: false,
  definitions: [],
  refs: [],
  stored: undefined,
};

export class FakeDaemon {
  readonly nodeId: NodeId = newNodeId(randomHex);
  readonly daemonId: ProcessId = newProcessId(randomHex, this.nodeId);
  /** A process of this node that asks. */
  readonly driver: ProcessId = newProcessId(randomHex, this.nodeId);
  readonly heard: Heard = { frames: 0, joined: 0, died: 0, processesGone: 0, broken: undefined };
  readonly link: NodeLink;
  /** Workers with their actors. */
  readonly actors: Map<ActorId, ProcessId> = new Map<ActorId, ProcessId>();
  readonly #options: FakeDaemonOptions;
  readonly #registered = Promise.withResolvers<void>();
  readonly #asked = new Map<number, Answer>();
  readonly #alive = new Map<ActorId, Answer>();
  readonly #leases = new Map<number, (answer: LeaseAnswerHeader) => void>();
  readonly #heartbeat: Heartbeat;
  #settled: number[] = [];
  #sequence = 0;
  #number = 0;
  #reportTimer: NodeJS.Timeout | undefined;

  constructor(options: FakeDaemonOptions) {
    this.#options = options;
    this.link = new NodeLink({
      self: { nodeId: this.nodeId, processId: this.daemonId, incarnation: randomHex(8) },
      token: options.token,
      connect: options.connect,
      onFrame: (frame) => this.#receive(frame),
      onUp: ({ isNew }) => {
        if (isNew) this.#register();
      },
      onDown: ({ message }) => {
        this.heard.broken = message;
      },
    });
    this.#heartbeat = new Heartbeat({ link: this.link });
  }

  /** Resolves when the head has taken it in. */
  join(): Promise<void> {
    this.link.open();
    return this.#registered.promise;
  }

  /** As SIGKILL does it: the connection ends without a word. */
  kill(): void {
    clearTimeout(this.#reportTimer);
    this.#heartbeat.stop();
    this.link.close("it was killed");
  }

  /** In order: the head is told. */
  leave(): void {
    this.#tell("left", "it was told to");
  }

  endProcess(id: ProcessId): void {
    this.#tell("processGone", id);
  }

  /** Asks as one of the node's processes; resolves with the header of the answer. */
  ask(type: number, header: unknown, from: ProcessId = this.driver): Promise<unknown> {
    this.#number += 1;
    const number = this.#number;
    return new Promise((resolve, reject) => {
      this.#asked.set(number, { resolve, reject });
      this.#route(from, type, header, number);
    });
  }

  /** Resolves when the actor is alive; the answers of all sides are sent, too. */
  createActor(actorId: ActorId, options: { name?: string; definition?: string } = {}): Promise<void> {
    const header: ActorCreateHeader = {
      actorId,
      definition: options.definition ?? "d",
      args: NO_ARGUMENTS,
      deps: [],
      options: {
        name: options.name,
        namespace: "scale",
        getIfExists: false,
        resources: { CPU: 1 },
        shape: resourceVector({ CPU: 1 }).key,
        group: undefined,
        maxRestarts: 0,
        isDetached: true,
        interface: {
          className: "Fake",
          methods: { call: {}, other: {} },
          groups: { default: 1 },
          maxTaskRetries: 0,
          maxPendingCalls: -1,
          allowOutOfOrderExecution: false,
        },
      },
    };
    return new Promise((resolve, reject) => {
      this.#alive.set(actorId, { resolve: () => resolve(), reject });
      this.ask(MESSAGE.ACTOR_CREATE, header).catch(reject);
    });
  }

  killActor(actorId: ActorId): void {
    this.#route(this.driver, MESSAGE.ACTOR_KILL, { actorId, restart: false });
  }

  /** As a daemon without room: where may these leases be had? */
  wantLeases(shape: string, count: number): Promise<LeaseAnswerHeader> {
    this.#number += 1;
    const ask: LeaseAskHeader = { number: this.#number, owner: this.driver, shape, count, isFromFull: true, knows: undefined };
    return new Promise((resolve) => {
      this.#leases.set(ask.number, resolve);
      this.#tell("leasesWanted", this.nodeId, ask);
    });
  }

  beat(): void {
    this.link.request(MESSAGE.HEARTBEAT, undefined, { timeoutMs: 0 }).catch(() => {});
  }

  report(): void {
    this.link.send(MESSAGE.NODE_REPORT, this.#report());
  }

  #register(): void {
    const { nodeId, daemonId } = this;
    const facts: NodeRegisterHeader = {
      version: PROTOCOL_VERSION,
      pid: process.pid,
      incarnation: randomHex(8),
      nodeId,
      daemonId,
      hostname: "fake",
      address: this.#options.address ?? NOWHERE,
      resources: { CPU: this.#options.numCpus },
      labels: {},
      objectStoreMemoryBytes: 1e9,
    };
    const digest: NodeDigestHeader = { nodeId, heads: 1, processes: [this.driver], actors: [], bundles: [] };
    this.link.request(MESSAGE.NODE_REGISTER, [facts, this.#report(), digest], { timeoutMs: 0 }).then(() => {
      if (this.#options.isStill !== true) this.#heartbeat.start();
      this.#registered.resolve();
    }, this.#registered.reject);
  }

  #report(): NodeReportHeader {
    const total = unitsOf(this.#options.numCpus);
    const free = unitsOf(this.#options.numCpus - this.actors.size);
    this.#sequence += 1;
    const settled = this.#settled;
    this.#settled = [];
    return { nodeId: this.nodeId, sequence: this.#sequence, free, total, freeOfActors: free, settled };
  }

  /** The placed workers run now: the next report says so. */
  settle(placement: number): void {
    if (placement !== 0) this.#settled.push(placement);
    this.#reportTimer ??= setTimeout(() => {
      this.#reportTimer = undefined;
      this.report();
    }, REPORT_AFTER_MS);
  }

  #tell(...event: HeadEventHeader): void {
    this.link.send(MESSAGE.HEAD_EVENT, event, { callId: 1 });
  }

  #route(from: ProcessId, type: number, header: unknown, callId = 0): void {
    const routed: RoutedHeader = [from, "", type, callId, 0, header];
    this.link.send(MESSAGE.ROUTED, routed, { parts: [NOTHING] });
  }

  #receive(frame: Frame): void {
    this.heard.frames += 1;
    // A short command names no list of nodes.
    if (this.#options.isDeaf === true && frame.type === MESSAGE.NODE_COMMAND && frame.header.length > DEAF_BYTES) return;
    const header = frame.header.length === 0 ? undefined : decodeHeader(frame.header);
    if (frame.type === MESSAGE.ROUTED) this.#routed(header as RoutedHeader);
    else if (frame.type === MESSAGE.NODE_COMMAND) this.#command(header as NodeCommandHeader);
  }

  #routed([, to, type, callId, flags, header]: RoutedHeader): void {
    if (type === MESSAGE.REPLY) {
      const asked = this.#asked.get(callId);
      this.#asked.delete(callId);
      if ((flags & FRAME_FLAG.ERROR) !== 0) asked?.reject(readWireError(header));
      else asked?.resolve(header);
    } else if (type === MESSAGE.ACTOR_START) {
      const { actorId, incarnation } = header as ActorStartHeader;
      this.#route(to as ProcessId, MESSAGE.ACTOR_STARTED, { actorId, incarnation });
    } else if (type === MESSAGE.ACTOR_STATE) {
      const { actorId, phase, reason } = header as ActorStateHeader;
      const waiting = this.#alive.get(actorId);
      this.#alive.delete(actorId);
      if (phase === "alive") waiting?.resolve(undefined);
      else waiting?.reject(new Error(`actor ${actorId} is ${phase}: ${reason ?? ""}`));
    }
  }

  #command([name, ...args]: NodeCommandHeader): void {
    switch (name) {
      case "placeActor": {
        const [actorId, { sent }] = args as [ActorId, ActorToPlace];
        const id = newProcessId(randomHex, this.nodeId);
        const worker: WorkerFactsHeader = { id, holderId: id, pid: 1, address: "fake", remoteAddress: NOWHERE };
        this.actors.set(actorId, id);
        this.#tell("placed", actorId, worker, undefined);
        this.settle(sent?.placement ?? 0);
        return;
      }
      case "actorGone":
        if (this.actors.delete(args[0] as ActorId)) this.settle(0);
        return;
      case "endActor": {
        const worker = args[0] as ProcessId;
        const exit = { workerId: worker, pid: 1, exitCode: 0, signal: undefined, lastOutput: [], reason: undefined };
        this.#tell("workerExited", worker, exit, { intended: true });
        this.#tell("processGone", worker);
        return;
      }
      case "leasesPlaced": {
        const [number, answer] = args as [number, LeaseAnswerHeader];
        const waiting = this.#leases.get(number);
        this.#leases.delete(number);
        waiting?.(answer);
        return;
      }
      case "prepareGroup": {
        const [group, { attempt, placement }] = args as [string, GroupPreparation];
        this.#tell("groupPrepared", group, { attempt, isHeld: true, nodeId: this.nodeId });
        this.settle(placement);
        return;
      }
      case "nodesChanged":
        for (const { nodeId, alive } of args[0] as NodeInfoHeader[]) {
          if (!alive) this.heard.died += 1;
          else if (nodeId !== this.nodeId) this.heard.joined += 1;
        }
        return;
      case "processGone":
        this.heard.processesGone += args.length;
        return;
      // A fake daemon ignores the rest.
      default:
    }
  }
}

function unitsOf(cpus: number): [name: string, units: number][] {
  return Array.from(resourceVector({ CPU: cpus }).amounts);
}
