/**
 * The catalogue of messages: one number and one header type each. PROTOCOL.md tells the same to readers of other languages.
 *
 * Groups: who is speaking (1-9), leases (10-19), workers (20-29), definitions (30-39), references (40-49), the object store (50-59),
 * actors (60-69), the node (70-79), calls, which go directly between the caller and a worker (80-89), cancellation (90-93), and the folders of jobs, which travel as packages (170-179).
 */
import type { ActorId, JobId, NodeId, NodeTag, ObjectId, ProcessId } from "../base/ids.ts";

/** Raised with every incompatible change; peers of another version are refused by name. */
export const PROTOCOL_VERSION = 2;

export const MESSAGE = {
  OPEN: 1,
  PROOF: 2,
  REPLY: 3,
  HELLO: 4,

  LEASE_DEMAND: 10,
  LEASE_GRANT: 11,
  LEASE_RETURN: 12,
  LEASE_REVOKE: 13,
  WORKER_EXITED: 15,
  LEASE_RECLAIM: 16,
  LEASE_RECLAIMED: 17,
  LEASE_TAKEN: 18,

  WORKER_PARK: 20,
  WORKER_UNPARK: 21,
  WORKER_SLOT: 22,
  WORKER_EXIT: 23,
  ACTOR_START: 24,
  ACTOR_STARTED: 25,
  ACTOR_START_FAILED: 26,
  WORKER_RETIRING: 27,

  DEFINE: 30,
  FETCH_DEFINITION: 31,

  REF_HOLD: 40,
  REF_RELEASE: 41,
  REF_FREE: 42,
  REF_WATCH: 43,
  REF_VALUE: 44,
  REF_ADOPT: 45,
  REF_LOST: 46,
  ARENA_LOST: 47,
  STORE_LINK_ENDED: 48,

  STORE_ARENA: 50,
  STORE_SEALED: 51,
  STORE_FREED: 52,
  STORE_REUSE: 53,
  STORE_STATUS: 54,
  STORE_COLLECT: 55,
  STORE_RETIRE: 56,
  STORE_SPILLED: 57,
  STORE_USE: 58,
  STORE_CLAIM: 59,

  ACTOR_CREATE: 60,
  ACTOR_STATE: 61,
  ACTOR_WATCH: 62,
  ACTOR_KILL: 63,
  ACTOR_LOOKUP: 64,
  ACTOR_REDIRECT: 65,
  ACTOR_LIST: 66,
  WAITS: 67,

  NODES: 70,
  RESOURCES: 71,
  SHUTDOWN: 72,
  LOG: 73,
  WARNING: 74,
  MESSAGE_REFUSED: 75,

  TASK_CALL: 80,
  ACTOR_CALL: 81,
  RESULT: 82,
  DEFINITION: 83,
  METHOD: 84,
  TASK_PARKED: 85,
  STREAM_ITEM: 86,
  STREAM_CREDIT: 87,
  STREAM_STOP: 88,
  TASK_DECLINED: 89,

  CANCEL: 90,
  DEFINITION_DROPPED: 93,
  CANCEL_REF: 91,
  CANCEL_RUNNING: 92,
  LEASE_REFUSED: 100,
  GROUP_CREATE: 101,
  GROUP_REMOVE: 102,
  GROUP_STATE: 103,
  GROUP_WATCH: 104,
  GROUP_LOOKUP: 105,
  GROUPS: 106,
  WHY_LEASE: 107,
  WHY_REF: 108,
  WHY_CALL: 109,

  ENVIRONMENT: 110,

  HELD_READ: 111,
  HELD_ENDED: 112,
  LEASE_ONCE: 113,

  LINK_ACK: 121,
  LINK_HELLO: 122,
  CERTIFICATE: 125,
  JOIN: 127,
  CERTIFICATE_RENEW: 128,
  JOIN_TOKENS: 129,

  PACKAGE_OFFER: 170,
  PACKAGE_READ: 171,
  PACKAGE_HELD: 172,
  ENVIRONMENT_FETCH: 173,
  JOB_ENDED: 174,
  CLUSTER_STATUS: 176,
  HEARTBEAT: 178,
  KV_PUT: 180,
  KV_GET: 181,
  KV_DELETE: 182,
  KV_LIST: 183,
  EXTENSION: 184,
  NODE_EXTENSION: 185,
  HEAD_SILENCE: 179,
  ROUTED: 120,
  NODE_REGISTER: 123,
  NODE_REPORT: 124,
  NODE_GONE: 126,
  NODE_COMMAND: 130,
  HEAD_EVENT: 131,
  STORE_ADOPT: 132,
  NODE_DRAIN: 133,
  WHY_PLACE: 134,
  LEASE_SPILL: 150,
  LEASE_SPILL_DROPPED: 151,
  OBJECT_FETCH: 160,
  COPY_RELEASE: 161,
  TRANSFER_OPEN: 162,
  TRANSFER_READ: 163,
  TRANSFER_CHUNK: 164,
  TRANSFER_END: 165,
  COPY_STATE: 166,
  COPY_FREED: 167,
  COPY_KEEP: 168,
  OBJECT_LOCATE: 169,
} as const;

/** `transfer`: a daemon that comes to fetch objects; after the hello come no frames but those of a transfer. */
type ProcessKind = "driver" | "worker" | "daemon" | "head" | "transfer";

/** Who calls. The first frame after the proofs. */
export interface HelloHeader {
  processId: ProcessId;
  /** Under which process references are counted: itself, except for workers that share a process with their driver. */
  holderId: ProcessId;
  kind: ProcessKind;
  pid: number;
  /** Where this process listens for direct calls; empty where it does not. */
  address: string;
  /** The same for processes of other nodes. */
  remoteAddress?: string | undefined;
  /** Completes call ids to task ids on the other side. */
  taskIdPrefix: string;
  jobId: JobId;
  /** To a worker that runs tasks: the lease for which the connection is made. */
  leaseId?: number | undefined;
  /** To a worker: the caller's number of this connection, by which answers with holds are told from those of others. */
  link?: number | undefined;
}

/** One more hold of a ref; of what an answer holds for its receiver, the link and the answer's number on it. */
export type RefHoldHeader = [id: ObjectId, owner: ProcessId, holder: ProcessId, link?: number, message?: number];

/** The receiver has read this process' messages with holds up to this number; to the daemon that asked: and nothing more comes over the link. */
export type HeldReadHeader = [sender: ProcessId, link: number, message: number, asker?: ProcessId];

/** From the sender: the link to this receiver has ended, or, without one, the sender itself. To the receiver: that of this sender has, how far has it read? */
export type HeldEndedHeader = [process?: ProcessId, link?: number, asker?: ProcessId];

/** What its writer stored for its owner and the owner has never heard of; the link over which that would have been told, of a writer that lives. */
export type DisownedRow = [location: WireLocation, link?: number];

/** Nothing runs in the worker, and so many tasks wait. `isReport`: it has heard that its last lease has ended; without it that may be on the way. */
export interface ParkHeader {
  left: number;
  isReport: boolean;
}

/** How often the sender lets go of each; the owner tells whose ledger has it. */
export type RefReleaseHeader = [id: ObjectId, count: number, owner: ProcessId][];

/** A lease: ids are counted by the node of the worker. */
export type LeaseNameHeader = [worker: ProcessId, leaseId: number];

/** To a worker: are the leases of that owner up to this number in use? */
export type ReclaimHeader = [owner: ProcessId, leaseId: number];

/**
 * From a worker, and to the owner: the leases of that owner on that worker up to this number have ended; of each connection that ends with them, for which lease it was made, and how
 * many calls the worker has read of it and answered: those behind them were never begun.
 */
export type ReclaimedHeader = [process: ProcessId, leaseId: number, read: [madeFor: number, calls: number][]];

/** The first frame of both ends of a node link's connection after the proofs; see `runtime/rpc/node-link.ts`. */
export interface LinkHelloHeader {
  nodeId: NodeId;
  processId: ProcessId;
  kind: "daemon" | "head";
  /** Of a head: how many have led before it, and itself. Nodes answer none with a smaller one than they have met. */
  term?: number | undefined;
  /** A random string per life of the process, for a head per term. */
  incarnation: string;
  /** Whom the caller wants to reach, if it minds. */
  to: NodeId | undefined;
  /** The incarnation of the other end that the caller had a connection with last. */
  peerIncarnation: string | undefined;
  /** How many frames of that incarnation have been handled. */
  delivered: number;
  /** The number of the first frame that the caller has not been told to be safe. */
  oldest: number;
}

/** From a machine that is not of the cluster yet, over TLS to a head that it knows by the hash of its authority. */
export interface JoinHeader {
  version: number;
  /** Of the join token. */
  secret: string;
  nodeId: NodeId;
  /** PEM; the private half stays where it is. */
  publicKey: string;
}

export interface JoinReply {
  headNodeId: NodeId;
  /** PEM. */
  certificate: string;
  /** The cluster's, with which its processes prove to each other that they belong to it. */
  token: string;
  /** Plain TCP is refused also between processes of one machine. */
  tlsOnLoopback: boolean;
  /** What the node needs to use the cluster's NATS. */
  nats: unknown;
}

/** How a value travels: lengths of its parts in the body, and what it needs to be read. */
export interface PayloadHeader {
  /** In-band bytes, at the beginning of the value's part of the body. */
  inBand: number;
  /** Lengths of the out-of-band buffers that follow. */
  buffers: number[];
  /** The closure graph form rather than the plain form. */
  graph: boolean;
  /** An error rather than a value. */
  error: boolean;
  /** Definitions of classes that must be known before the value can be read. */
  definitions: string[];
  /** References inside the value: each is held for the receiver by the sender. */
  refs: [id: ObjectId, owner: ProcessId][];
  /** The value lies in the store instead of in the body; the object is held for the receiver too. */
  stored: StoredHeader | undefined;
}

export interface StoredHeader {
  id: ObjectId;
  owner: ProcessId;
  location: WireLocation;
}

export type WireLocation = [arena: string, offset: number, sizeBytes: number, kind: "memory" | "disk"];

export interface LeaseDemandHeader {
  /** Of the backlog, so many tasks have most of their arguments' bytes on that node. */
  near?: readonly (readonly [node: NodeTag, tasks: number, bytes: number])[] | undefined;
  /** Canonical text of what is asked for: resources, and where (`runtime/scheduling/lease-spec.ts`). */
  shape: string;
  /** How many tasks of this shape wait here now; replaces the last number. */
  backlog: number;
}

export interface LeaseGrantHeader {
  leaseId: number;
  shape: string;
  workerId: ProcessId;
  address: string;
  pid: number;
  /** Which accelerators its tasks may use, by resource; undefined where none were asked for. */
  accelerators: AcceleratorIds | undefined;
}

/** By resource name, such as `GPU`: ids. */
export type AcceleratorIds = Record<string, string[]>;

/** No worker will ever be granted for what waits under this shape. */
export interface LeaseRefusedHeader {
  shape: string;
  code: "unschedulable" | "groupRemoved" | "environmentFailed";
  reason: string;
  hint: string;
}

/** A runtime environment as whoever asks for its workers describes it: `runtime/environment/runtime-env.ts` reads it. */
export interface EnvironmentHeader {
  key: string;
  description: object;
}

export interface WorkerExitedHeader {
  workerId: ProcessId;
  pid: number;
  exitCode: number | undefined;
  signal: string | undefined;
  lastOutput: string[];
  /** Why the daemon ended it, when it did. */
  reason: string | undefined;
  /** The call that it ran then, by its caller and its id there. Absent where it ran none that it had marked: short ones of JavaScript are not. */
  running?: [caller: ProcessId, callId: number];
  /** By connection, named by the lease it was made for: the task of it that began last. Absent where none had begun, and of workers that do not mark it. */
  begun?: readonly (readonly [leaseId: number, callId: number])[];
  /** It was ended for a cancelled call: what else was there uses up no retry. */
  isForCancellation?: boolean;
  /** It was ended for its memory. */
  outOfMemory?: OutOfMemoryHeader;
}

export interface OutOfMemoryHeader {
  /** Its own limit, or the machine's. */
  because: "limit" | "machine";
  usedBytes: number;
  limitBytes: number;
  /** The largest processes of the machine then, as text. */
  processes: string;
}

/** The options of one method, by name; classes of errors in `retryOn` by their names. */
export type MethodHeader = Record<string, string | number | boolean | string[]>;

/** What a caller must know of an actor to call it. */
export interface ActorInterfaceHeader {
  className: string;
  methods: Record<string, MethodHeader>;
  /** The concurrency groups with their limits, "default" among them. */
  groups: Record<string, number>;
  maxTaskRetries: number;
  /** -1: without limit. */
  maxPendingCalls: number;
  allowOutOfOrderExecution: boolean;
  /** The methods are known to the actor alone (one in Python): any name may be called. */
  isOpen?: boolean;
}

export interface ActorOptionsHeader {
  name: string | undefined;
  namespace: string;
  getIfExists: boolean;
  resources: Record<string, number>;
  /** As in a lease: resources and where. */
  shape: string;
  /** The placement group that it lives in. */
  group: string | undefined;
  maxRestarts: number;
  /** Neither the end of its creator nor that of its handles ends it. */
  isDetached: boolean;
  interface: ActorInterfaceHeader;
}

export interface ActorCreateHeader {
  actorId: ActorId;
  definition: string;
  options: ActorOptionsHeader;
  args: PayloadHeader;
  deps: PayloadHeader[];
}

export interface ActorStartHeader {
  actorId: ActorId;
  incarnation: number;
  definition: string;
  /** Class name, for messages. */
  name: string;
  /** The name under which it can be looked up. */
  actorName: string | undefined;
  resources: Record<string, number>;
  /** The concurrency groups with their limits, "default" among them. */
  groups: Record<string, number>;
  /** Under which it was placed: its group, its environment. */
  shape: string;
  accelerators: AcceleratorIds | undefined;
  args: PayloadHeader;
  deps: PayloadHeader[];
}

/** Why an actor can never be placed. */
export type ActorRefusal = Omit<LeaseRefusedHeader, "shape">;

export type ActorPhase = "pending" | "alive" | "restarting" | "dead";

/** How an actor came to its end. The last two: another has its name; it was refused or its arguments failed, so there was never a process. */
export type ActorEnding =
  | "terminated"
  | "exited"
  | "killed"
  | "unheld"
  | "creatorGone"
  | "constructorFailed"
  | "crashed"
  | "nameTaken"
  | "notCreated";

/** From an actor that ends by itself, before it does. */
export interface ActorLeavingHeader {
  ending: "terminated" | "exited";
  reason: string;
}

export interface ActorStateHeader {
  actorId: ActorId;
  phase: ActorPhase;
  incarnation: number;
  processId: ProcessId | undefined;
  address: string | undefined;
  pid: number | undefined;
  /** For the dead: why. */
  reason: string | undefined;
  /** Of the dead; absent for those that died under a head of version 0.1.0. */
  ending?: ActorEnding | undefined;
  exit: WorkerExitedHeader | undefined;
  refusal?: ActorRefusal | undefined;
  /** The constructor's, whose bytes are the body. */
  error?: PayloadHeader | undefined;
}

export interface ActorLookupReply {
  actorId: ActorId;
  /** The daemon that counts who holds it. */
  owner: ProcessId;
  interface: ActorInterfaceHeader;
}

/** A wait of a task or an actor that has lasted. */
export interface LongWaitHeader {
  /** Within its process. */
  number: number;
  /** The call that waits, and its name. */
  task: string;
  name: string;
  /** The serial actor that it runs in. */
  actor: ActorId | undefined;
  /** The calls whose results it needs, all of them, and the actors that they were made to. */
  for: { task: string; name: string; actor: ActorId | undefined }[];
}

export interface WaitsHeader {
  began: LongWaitHeader[];
  /** Numbers of those that were told and have ended. */
  ended: number[];
}

/** One actor in the answer to ACTOR_LIST. */
export interface ActorInfoHeader {
  actorId: ActorId;
  className: string;
  name: string | undefined;
  namespace: string;
  phase: ActorPhase;
  isDetached: boolean;
  incarnation: number;
  pid: number | undefined;
  nodeId: NodeId | undefined;
  reason: string | undefined;
}

export interface CallHeader {
  /** Number of the definition or method on this connection. */
  target: number;
  /** For tasks: the shape whose CPU it runs under; for actors empty. */
  shape: string;
  sequenceHigh: number;
  /** Per caller and actor incarnation, from 0: a repeated or stale call is seen. */
  args: PayloadHeader;
  deps: PayloadHeader[];
  numReturns: number;
  name: string | undefined;
  actorId: ActorId | undefined;
  incarnation: number;
  /** Of an actor's method: it makes a lost object again, and comes before calls that wait for their turn. */
  isRemade?: true | undefined;
  /** For tasks with accelerators: those of the lease. */
  accelerators: AcceleratorIds | undefined;
  stream: StreamHeader | undefined;
  /** With refs in it: its number among the messages of this direction that have some. */
  held?: number | undefined;
}

/** `numReturns` of a call whose items are a stream. */
export const STREAMING = -1;

/** What the producer of a stream needs to know of its consumer. The limits are infinite where there is none. */
export interface StreamHeader {
  /** Items that the caller has from an earlier attempt: they are made again and not sent. */
  skip: number;
  /** Items that have been consumed; STREAM_CREDIT raises it. */
  consumed: number;
  /** How many items, and how many bytes, may be sent ahead of consumption; one item always may. */
  itemsAhead: number;
  bytesAhead: number;
}

export interface StreamItemHeader {
  index: number;
  item: PayloadHeader;
  /** As in ResultHeader. */
  held?: number;
}

export interface ResultHeader {
  durationUs: number;
  /** One per return value, in order; their parts follow one another in the body. */
  returns: PayloadHeader[];
  /** Of an answer with holds: its number among those on this connection, from 1. */
  held?: number;
}

/** To the worker that has the call: nobody waits for its result any more. */
export interface CancelHeader {
  /** Cancel the calls that it made, too. */
  recursive: boolean;
  /** It had its time to end by itself: answer without it, if others would suffer from the end of the worker. */
  abandon: boolean;
}

/** To the process that made the call behind a ref, by way of the daemon. */
export interface CancelRefHeader {
  id: ObjectId;
  owner: ProcessId;
  force: boolean;
  recursive: boolean;
}

/** The shape under which a worker may run, whether it asked for it, and whether a lease of that shape lasts. With accelerators for the constructor of an actor. */
export type SlotHeader = [shape: string, isAnswer: boolean, isLeased: boolean, accelerators?: AcceleratorIds];

/** To the daemon: a cancelled call has begun and goes on. */
export interface CancelRunningHeader {
  worker: ProcessId;
  callId: number;
  recursive: boolean;
  /** End the worker rather than interrupt it. */
  kill: boolean;
}

export interface LogHeader {
  pid: number;
  source: string;
  stream: "stdout" | "stderr";
  lines: string[];
  /** Whose drivers it is for; undefined where there is one job. */
  job?: JobId | undefined;
}

export interface NodeHeader {
  nodeId: NodeId;
  alive: boolean;
  hostname: string;
  address: string;
  resources: Record<string, number>;
  labels: Record<string, string>;
  objectStoreMemoryBytes: number;
}

/** A placement group as the head keeps it, and as its creator asks for it. */
export interface GroupHeader {
  id: string;
  name: string | undefined;
  namespace: string;
  strategy: "PACK" | "SPREAD" | "STRICT_PACK" | "STRICT_SPREAD";
  bundles: Record<string, number>[];
  /** A label selector for each bundle. */
  labels: Record<string, string>[];
  isDetached: boolean;
  state: "pending" | "created" | "rescheduling" | "removed";
  /** The node of each bundle. */
  nodeIds: (NodeId | undefined)[];
}

export interface GroupCreateHeader extends Omit<GroupHeader, "state" | "nodeIds"> {
  /** The driver or the actor with whose end it ends; undefined for one that lives as long as the session. */
  owner: ProcessId | ActorId | undefined;
}

/** The answer to GROUP_WATCH: a group is no longer pending. */
export interface GroupStateHeader {
  id: string;
  state: "created" | "removed";
  reason: string | undefined;
}
