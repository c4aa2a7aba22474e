/**
 * The catalogue of messages: a number each, and the shapes and types of headers that several files need. PROTOCOL.md tells the same to readers of other languages.
 *
 * The tables of each direction (`messages-to-daemon.ts` and its neighbours) explain the messages. Shapes know nothing about permissions.
 *
 * Groups: the hello (1-9), leases (10-19), workers (20-29), definitions (30-39), references (40-49), the object store (50-59), actors
 * (60-69), the node (70-79). Calls, which go directly between the caller and a worker, have 80-89, cancellation has 90-93, and the folders
 * of jobs, which travel as packages, have 170-179.
 */
import type { ActorId, ProcessId } from "../base/ids.ts";
import {
  actorId,
  count,
  either,
  environmentKey,
  exactly,
  fields,
  flag,
  jobId,
  leaf,
  leaseSpec,
  list,
  named,
  nodeId,
  nodeTag,
  number,
  objectId,
  type Of,
  optional,
  orUndefined,
  processId,
  readonlyList,
  record,
  type Shape,
  text,
  textOf,
  tuple,
  unchecked,
} from "./header-shape.ts";

/** Raised with every incompatible change; peers of another version are refused by name. */
export const PROTOCOL_VERSION = 2;

export const MESSAGE = {
  OPEN: 1,
  PROOF: 2,
  REPLY: 3,
  HELLO: 4,
  OUTBOX: 5,

  LEASE_DEMAND: 10,
  LEASE_GRANT: 11,
  LEASE_RETURN: 12,
  LEASE_REVOKE: 13,
  OUTBOX_REST: 14,
  WORKER_EXITED: 15,
  LEASE_RECLAIM: 16,
  LEASE_RECLAIMED: 17,
  LEASE_TAKEN: 18,
  FIRST_CALL: 19,
  FIRST_CALLS_BACK: 9,

  WORKER_PARK: 20,
  WORKER_UNPARK: 21,
  WORKER_SLOT: 22,
  WORKER_EXIT: 23,
  ACTOR_START: 24,
  ACTOR_STARTED: 25,
  ACTOR_START_FAILED: 26,
  WORKER_RETIRING: 27,
  WORKER_APART: 28,
  RELAYED: 29,

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
  REF_KNOWN: 49,

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
  CALL_DEADLINE: 94,
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
  CALL_PARENT: 114,

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
  PROCESSES_ENDED: 175,
  CLUSTER_STATUS: 176,
  HEARTBEAT: 178,
  KV_PUT: 180,
  KV_GET: 181,
  KV_DELETE: 182,
  KV_LIST: 183,
  EXTENSION: 184,
  NODE_EXTENSION: 185,
  NODE_STATE: 186,
  CALL_FAILED: 187,
  LOG_LIST: 188,
  LOG_READ: 189,
  METRICS: 190,
  NODE_METRICS: 191,
  OPEN_CALLS: 192,
  INSPECT: 193,
  INSPECT_READ: 194,
  NODE_SERIES: 195,
  CLUSTER_DEMAND: 196,
  DEMAND_VERDICTS: 197,
  HEAD_SILENCE: 179,
  ROUTED: 120,
  NODE_REGISTER: 123,
  NODE_REPORT: 124,
  NODE_GONE: 126,
  NODE_COMMAND: 130,
  HEAD_EVENT: 131,
  STORE_ADOPT: 132,
  NODE_DRAIN: 133,
  NODE_DRAINING: 177,
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

/** A process, possibly named by more than its id: the daemon of a node that has gone, or nobody. */
export const anyProcess = textOf<ProcessId>("process id");

/** Identifies the caller. The first frame after the proofs. */
export const hello = fields({
  processId: anyProcess,
  /** Under which process references are counted: itself, except for workers that share a process with their driver. */
  holderId: anyProcess,
  /**
   * `transfer`: a daemon that fetches objects; only frames of a transfer follow the hello. `service`: a library that connects to an actor;
   * only the library's own frames follow.
   */
  kind: exactly("driver", "worker", "internal", "daemon", "head", "transfer", "service"),
  pid: number,
  /** Where this process listens for direct calls; empty where it does not. */
  address: text,
  /** The same for processes of other nodes. */
  remoteAddress: optional(text),
  /** Completes call ids to task ids on the other side. */
  taskIdPrefix: text,
  jobId,
  /** To a worker that runs tasks: the lease for which the connection is made. */
  leaseId: optional(number),
  /** To a worker: the caller's number of this connection, which tells its answers with holds from others. */
  link: optional(number),
  /** To an actor, with kind `service`: which one. */
  service: optional(text),
});
export type HelloHeader = Of<typeof hello>;

/** The first frame of both ends of a node link's connection after the proofs; see `runtime/rpc/node-link.ts`. */
export const linkHello = fields({
  nodeId,
  processId: anyProcess,
  kind: exactly("daemon", "head"),
  /** From a head: its number in the sequence of leaders. Nodes refuse a smaller one than they have met. */
  term: optional(number),
  /** A random string per life of the process, for a head per term. */
  incarnation: text,
  /** Node that the caller wants to reach, if it matters. */
  to: orUndefined(nodeId),
  /** The incarnation of the other end that the caller had a connection with last. */
  peerIncarnation: orUndefined(text),
  /** How many frames of that incarnation have been handled. */
  delivered: count,
  /** The number of the first frame that is not known to the caller to be safe. */
  oldest: count,
});
export type LinkHelloHeader = Of<typeof linkHello>;

/** From a machine that has not joined yet, over TLS to a head that it identifies by the hash of the authority. */
export const joining = fields({
  version: number,
  /** Secret of the join token. */
  secret: text,
  nodeId,
  /** PEM; the private half stays where it is. */
  publicKey: text,
});
export type JoinHeader = Of<typeof joining>;

/** The versions of the package and of Node. */
const build = fields({ shoal: text, node: text });

export const joined = fields({
  headNodeId: nodeId,
  /** Those of the head: a node with others does not join. */
  build,
  /** PEM. */
  certificate: text,
  /** The cluster's, with which its processes prove to each other that they belong to it. */
  token: text,
  /** Plain TCP is refused also between processes of one machine. */
  tlsOnLoopback: flag,
  /** Credentials with which the node uses the cluster's NATS. */
});
export type JoinReply = Of<typeof joined>;

/** The name of a file of the store: no path. */
export const arenaName = leaf<string>(
  "the name of a file of the store",
  (value) => typeof value === "string" && /^[\w-]{1,128}$/.test(value),
  "arena",
);

/** Place of an object's bytes: the file of the store, the offset in it, the size, and the kind of file system. */
export const location = named("location", tuple(arenaName, count, count, exactly("memory", "disk")));
export type WireLocation = Of<typeof location>;

export const stored = fields({ id: objectId, owner: anyProcess, location });
export type StoredHeader = Of<typeof stored>;

/** References, with their owners. */
export const refs = list(tuple(objectId, anyProcess));

/** A value that follows in the body, or is in a store: see Payloads in headers. */
export const payload = named(
  "payload",
  fields({
    /** In-band bytes, at the beginning of the value's part of the body. */
    inBand: count,
    /** Lengths of the out-of-band buffers that follow. */
    buffers: list(count),
    /** The closure graph form rather than the plain form. */
    graph: flag,
    /** An error rather than a value. */
    error: flag,
    /** Definitions of classes that must be known before the value can be read. */
    definitions: list(text),
    /** References inside the value: each is held for the receiver by the sender. */
    refs,
    /** Where objects of `refs` lie in the store, by their numbers there: their receiver reads them without a question. */
    places: optional(list(tuple(count, location))),
    /** The value is in the store instead of in the body; the object is held for the receiver too. */
    stored: orUndefined(stored),
  }),
);
export type PayloadHeader = Of<typeof payload>;

/**
 * Adds a hold of a ref: the object, its owner, the holder. For holds that an answer takes for the receiver, also the link and the answer's
 * number on it.
 */
export const refHold = tuple(objectId, processId, processId, optional(number), optional(number));
export type RefHoldHeader = Of<typeof refHold>;

/**
 * An object that its writer stored for its owner and that the owner has never heard of. For a living writer, also the link that would have
 * announced it.
 */
export const disownedRow = tuple(location, optional(number));
export type DisownedRow = Of<typeof disownedRow>;

/**
 * Nothing runs in the worker, and this many tasks wait. `isReport`: the worker knows that its last lease has ended; otherwise that news may
 * be on the way.
 */
export const park = fields({ left: count, isReport: flag });
export type ParkHeader = Of<typeof park>;

/** A lease: the worker, and the lease's id, which is counted by the node of the worker. */
export const leaseName = tuple(processId, number);
export type LeaseNameHeader = Of<typeof leaseName>;

/** To a worker: are the leases of that owner up to this number in use? */
export const reclaim = tuple(processId, number);
export type ReclaimHeader = Of<typeof reclaim>;

/**
 * From a worker, and to the owner: the leases of that owner on that worker up to this number have ended. Each connection that ends with
 * them has its lease, and the number of calls that the worker has read and answered: later calls were never begun.
 */
export const reclaimed = tuple(processId, number, list(tuple(number, number)));
export type ReclaimedHeader = Of<typeof reclaimed>;

export const leaseDemand = fields({
  /** Canonical text of the demand: resources, and where (`runtime/scheduling/lease-spec.ts`). */
  shape: leaseSpec,
  /** How many tasks of this shape wait here now; replaces the last number. */
  backlog: count,
  /** Tasks of the backlog with most of their arguments' bytes on a node: node, tasks, bytes. */
  near: optional(readonlyList(tuple(nodeTag, number, number))),
  /** One of the backlog travels in the body, as its caller would send it over a connection with this number. `once`: it may not run twice. */
  first: optional(fields({ link: count, taskIdPrefix: text, once: flag })),
});
export type LeaseDemandHeader = Of<typeof leaseDemand>;

/** By resource name, such as `GPU`: ids. */
export const accelerators = record(list(text));
export type AcceleratorIds = Of<typeof accelerators>;

export const leaseGrant = fields({
  leaseId: number,
  shape: leaseSpec,
  workerId: processId,
  address: text,
  pid: number,
  /** Accelerators for the lease's tasks, by resource; undefined if none were requested. */
  accelerators: orUndefined(accelerators),
  /** The worker has the call that travelled with the demand under this number. */
  first: optional(count),
});
export type LeaseGrantHeader = Of<typeof leaseGrant>;

/** To a worker: a call for this lease that came before its caller has a connection. */
export const firstCall = fields({ caller: hello, leaseId: number, accelerators: orUndefined(accelerators) });
export type FirstCallHeader = Of<typeof firstCall>;

/** The other end, and the number that the caller gave to the connection; negative in messages of the caller. */
export const relayed = tuple(processId, number);

const refusalFields = { code: exactly("unschedulable", "groupRemoved", "environmentFailed"), reason: text, hint: text };
/** Why an actor can never be placed. */
export const refusal = fields(refusalFields);
export type ActorRefusal = Of<typeof refusal>;

/** No worker will ever be granted for demands of this shape. */
export const leaseRefused = fields({ shape: leaseSpec, ...refusalFields });
export type LeaseRefusedHeader = Of<typeof leaseRefused>;

const texts = list(text);
const folderPlace = fields({ node: nodeId, hostname: text });
export const environmentDescription: Shape<object> = fields({
  envVars: optional(record(text)),
  workingDir: optional(text),
  excludes: optional(texts),
  nodeModules: optional(either(text, texts)),
  python: optional(either(text, texts)),
  pythonPreload: optional(texts),
  execPath: optional(text),
  execArgv: optional(texts),
  language: optional(exactly("python")),
  setupTimeoutMs: optional(number),
  job: optional(
    fields({
      node: nodeId,
      hostname: text,
      jobId: text,
      namespace: text,
      directory: text,
      directoryIdentity: optional(text),
      execArgv: texts,
    }),
  ),
  workingDirAt: optional(folderPlace),
  nodeModulesAt: optional(folderPlace),
});

/**
 * A runtime environment: the key that later shapes name, and its description with absolute paths. In a cluster `job` has the driver's node,
 * folder and Node flags, and `workingDirAt` and `nodeModulesAt` the nodes of those folders.
 */
export const environment = named(
  "environment",
  fields({
    key: environmentKey,
    /** Description by the process that asks for its workers: `runtime/environment/runtime-env.ts` reads it. */
    description: environmentDescription,
  }),
);
export type EnvironmentHeader = Of<typeof environment>;

const outOfMemory = fields({
  /** The actor's own limit, or the machine's. */
  because: exactly("limit", "machine"),
  usedBytes: number,
  limitBytes: number,
  /** The largest processes of the machine then, as text. */
  processes: text,
});
export type OutOfMemoryHeader = Of<typeof outOfMemory>;

/**
 * The end of a worker. `running`: the caller and the call id in the worker's interrupt slot. `begun`: for each connection, named by its
 * lease, the call that began last. `reason`: why the daemon ended the worker, if it did. `isForCancellation`: the worker was ended for a
 * cancelled call. `outOfMemory`: it was ended for its memory, with the limit and the largest processes then.
 */
export const workerExit = named(
  "worker exit",
  fields({
    workerId: processId,
    pid: number,
    exitCode: orUndefined(number),
    signal: orUndefined(text),
    lastOutput: list(text),
    reason: orUndefined(text),
    /** Absent where it ran no call that it had marked: short ones of JavaScript are not. */
    running: optional(tuple(processId, number)),
    /** Absent if none had begun, and for workers that do not mark it. */
    begun: optional(readonlyList(tuple(number, number))),
    /** The call that ran while other tasks waited in the same process, and is to blame for the end. */
    sharing: optional(fields({ caller: processId, callId: number, name: text })),
    /** The worker's other calls use up no retry. */
    isForCancellation: optional(flag),
    outOfMemory: optional(outOfMemory),
  }),
);
export type WorkerExitedHeader = Of<typeof workerExit>;

/** The options of one method, by name; classes of errors in `retryOn` by their names. */
const method = record(unchecked<string | number | boolean | string[]>());
export type MethodHeader = Of<typeof method>;

/**
 * An actor as callers know it: the methods' options by name, and the concurrency groups with their limits. `maxPendingCalls`: -1 for any
 * number. `isOpen`: only the actor knows its methods, as in Python, and any name may be called.
 */
export const actorInterface = named(
  "actor interface",
  fields({
    className: text,
    methods: record(method),
    /** "default" is among them. */
    groups: record(number),
    maxTaskRetries: unchecked<number>(),
    maxPendingCalls: unchecked<number>(),
    allowOutOfOrderExecution: unchecked<boolean>(),
    isOpen: optional(unchecked<boolean>()),
  }),
);
export type ActorInterfaceHeader = Of<typeof actorInterface>;

/** `shape`: as in a lease; `group`: the placement group that the actor lives in; `isDetached`: it outlives its creator and its handles. */
export const actorOptions = named(
  "actor options",
  fields({
    name: orUndefined(text),
    namespace: text,
    getIfExists: flag,
    resources: record(number),
    shape: leaseSpec,
    group: orUndefined(text),
    maxRestarts: number,
    isDetached: flag,
    interface: actorInterface,
  }),
);
export type ActorOptionsHeader = Of<typeof actorOptions>;

export const actorCreate = fields({ actorId, definition: text, args: payload, deps: list(payload), options: actorOptions });
export type ActorCreateHeader = Of<typeof actorCreate>;

export const actorStart = fields({
  actorId,
  incarnation: number,
  definition: text,
  /** Class name, for messages. */
  name: text,
  /** The name under which it can be looked up. */
  actorName: orUndefined(text),
  resources: record(number),
  /** The concurrency groups with their limits, "default" among them. */
  groups: record(number),
  /** Under which it was placed: its group, its environment. */
  shape: leaseSpec,
  accelerators: orUndefined(accelerators),
  args: payload,
  deps: list(payload),
});
export type ActorStartHeader = Of<typeof actorStart>;

export const actorPhase = exactly("pending", "alive", "restarting", "dead");
export type ActorPhase = Of<typeof actorPhase>;

/** How an actor ended. The last two: another has its name; it was refused or its arguments failed, so there was never a process. */
export const actorEnding = exactly(
  "terminated",
  "exited",
  "killed",
  "unheld",
  "creatorGone",
  "constructorFailed",
  "crashed",
  "nameTaken",
  "notCreated",
);
export type ActorEnding = Of<typeof actorEnding>;

/** From an actor that ends by itself, before it does; or from a retiring worker that declines to become an actor. */
export const actorLeaving = either(
  fields({ ending: exactly("terminated", "exited"), reason: text }),
  fields({ ending: exactly("declined") }),
);
export type ActorLeavingHeader = Of<typeof actorLeaving>;

export const actorState = fields({
  actorId,
  phase: actorPhase,
  incarnation: number,
  processId: orUndefined(processId),
  address: orUndefined(text),
  pid: orUndefined(number),
  /** For the dead: why. */
  reason: orUndefined(text),
  /** Set for dead actors, except those that died under a head of version 0.1.0. */
  ending: optional(actorEnding),
  exit: orUndefined(workerExit),
  refusal: optional(refusal),
  /** The constructor's, whose bytes are the body. */
  error: optional(payload),
});
export type ActorStateHeader = Of<typeof actorState>;

export const actorFound = fields({
  actorId,
  /** Daemon that counts the holders. */
  owner: processId,
  interface: actorInterface,
});
export type ActorLookupReply = Of<typeof actorFound>;

/** The id of a requested actor may be any text that somebody was given. */
export const anyActor = textOf<ActorId>("actor id");

/** A wait of a task or an actor that has lasted. */
const longWait = fields({
  /** Within its process. */
  number,
  /** The call that waits, and its name. */
  task: text,
  name: text,
  /** The serial actor that it runs in. */
  actor: orUndefined(anyActor),
  /** All calls whose results it needs, and the actors that they were made to. */
  for: list(fields({ task: text, name: text, actor: orUndefined(anyActor) })),
});
export type LongWaitHeader = Of<typeof longWait>;

/** `ended`: numbers of reported waits that have ended. */
export const waits = fields({ began: list(longWait), ended: list(number) });
export type WaitsHeader = Of<typeof waits>;

/** An actor in the answer to ACTOR_LIST. */
export const actorInfo = fields({
  actorId,
  className: text,
  name: orUndefined(text),
  namespace: text,
  phase: actorPhase,
  isDetached: flag,
  incarnation: count,
  pid: orUndefined(number),
  nodeId: orUndefined(nodeId),
  reason: orUndefined(text),
  /** More columns for lists of state; absent unless asked for. */
  detail: optional(
    fields({
      /** In milliseconds since 1970; 0 where another head led then. */
      createdMs: number,
      worker: orUndefined(processId),
      creator: processId,
      maxRestarts: number,
      resources: record(number),
      group: orUndefined(text),
      exit: orUndefined(workerExit),
    }),
  ),
});
export type ActorInfoHeader = Of<typeof actorInfo>;

const limit = leaf<number>("a number", (value) => typeof value === "number" && !Number.isNaN(value), "number or infinity");
/** Facts about a stream's consumer for its producer. Limits are infinite if there is no consumer. */
const stream = fields({
  /** Items that the caller has from an earlier attempt: they are made again and not sent. */
  skip: number,
  /** Items that have been consumed; STREAM_CREDIT raises it. */
  consumed: number,
  /** How many items, and how many bytes, may be sent ahead of consumption; one item always may. */
  itemsAhead: limit,
  bytesAhead: limit,
});
export type StreamHeader = Of<typeof stream>;

/** `numReturns` of a call whose items are a stream. */
export const STREAMING = -1;

export const call = fields({
  /** Number of the definition or method on this connection. */
  target: number,
  /** For tasks: the shape whose CPU it runs under, read by the executor's table of shapes; for actors empty. */
  shape: text,
  /** Per caller and actor incarnation, from 0: a repeated or stale call is seen. */
  sequenceHigh: number,
  args: payload,
  deps: list(payload),
  numReturns: number,
  name: orUndefined(text),
  actorId: orUndefined(actorId),
  incarnation: number,
  /** Set on an actor's method that makes a lost object again. Such calls overtake calls that wait for their turn. */
  isRemade: optional(exactly(true)),
  /** For tasks with accelerators: those of the lease. */
  accelerators: orUndefined(accelerators),
  stream: orUndefined(stream),
  /** With refs in it: its number among the messages of this direction that have some. */
  held: optional(number),
  /** How often the call was tried before; absent for the first attempt. */
  attempt: optional(count),
});
export type CallHeader = Of<typeof call>;

/** `held`: as in RESULT. */
export const streamItem = fields({ index: number, item: payload, held: optional(number) });
export type StreamItemHeader = Of<typeof streamItem>;

/** To the worker with the call: nobody waits for its result any more. */
export const cancel = fields({
  /** Cancel the calls that it made, too. */
  recursive: flag,
  /** The call had its time to end by itself: answer without it, if others would suffer from the end of the worker. */
  abandon: flag,
});
export type CancelHeader = Of<typeof cancel>;

/** To the process that made the call behind a ref, by way of the daemon. */
export const cancelRef = fields({ id: objectId, owner: processId, force: flag, recursive: flag });
export type CancelRefHeader = Of<typeof cancelRef>;

/**
 * The shape under which a worker may run, whether the worker asked for it, and whether a lease of that shape lasts. With accelerators for
 * the constructor of an actor.
 */
export const slot = tuple(leaseSpec, flag, flag, optional(accelerators));
export type SlotHeader = Of<typeof slot>;

/** To the daemon: a cancelled call has begun and continues. */
export const cancelRunning = fields({
  worker: processId,
  callId: number,
  recursive: flag,
  /** End the worker rather than interrupt it. */
  kill: flag,
});
export type CancelRunningHeader = Of<typeof cancelRunning>;

export const log = fields({
  pid: number,
  source: text,
  stream: exactly("stdout", "stderr"),
  lines: list(text),
  /** Job whose drivers get the output; undefined if there is one job. */
  job: optional(jobId),
});
export type LogHeader = Of<typeof log>;

/** A node in the head's answers to processes and operators. */
export const nodePlace = { nodeId, hostname: text, address: text, labels: record(text) };

export const nodeEntry = fields({
  ...nodePlace,
  alive: flag,
  draining: flag,
  resources: record(number),
  objectStoreMemoryBytes: number,
  /** Why it is not alive, and when it was found to be gone, in milliseconds since 1970. */
  reason: optional(text),
  goneMs: optional(number),
});
export type NodeHeader = Of<typeof nodeEntry>;

const groupFields = {
  id: text,
  name: orUndefined(text),
  namespace: text,
  strategy: exactly("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"),
  bundles: list(record(number)),
  /** A label selector for each bundle. */
  labels: list(record(text)),
  isDetached: flag,
};
/**
 * A placement group as its creator asks for it: resources and a label selector for each bundle. `owner`: the driver or actor with whose end the group ends; without it, the group
 * lives as long as the session.
 */
export const group = named("group", fields({ ...groupFields, owner: orUndefined(either(processId, actorId)) }));
export type GroupCreateHeader = Of<typeof group>;

/** A placement group as the head keeps it. */
export const groupEntry = fields({
  ...groupFields,
  state: exactly("pending", "created", "rescheduling", "removed"),
  /** The node of each bundle. */
  nodeIds: list(orUndefined(nodeId)),
});
export type GroupHeader = Of<typeof groupEntry>;

/** The answer to GROUP_WATCH: a group is no longer pending. */
export const groupState = fields({ id: text, state: exactly("created", "removed"), reason: orUndefined(text) });
export type GroupStateHeader = Of<typeof groupState>;
