/**
 * Programs that have shown the token and are faulty: with any messages to their node's daemon, only they end, with the reason, and the
 * node's links stay whole.
 *
 * For each message that a process sends its daemon there is one good header; it is sent with parts that are missing, of other types, huge, negative and of other
 * nodes. The other border, that of the head and of other nodes, must take all that the daemon's lets through.
 */
import { type ActorHandle, actors, get, getActor, init, nodes, ready, remote, shutdown } from "shoal";
import { TestCluster } from "shoal/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectToCluster } from "../../src/ops/connection/cluster-connection.ts";
import type { JobId, NodeId, NodeTag, ProcessId } from "../../src/runtime/base/ids.ts";
import { checkNode } from "../../src/runtime/head/nodes/message-validation.ts";
import { checkRouted } from "../../src/runtime/node/membership/message-validation.ts";
import { faultOfMessage, messagesOfProcesses } from "../../src/runtime/node/process-messages.ts";
import { type NodeFile, readNodeFiles } from "../../src/runtime/os/files/clusters/node-file.ts";
import { randomHex } from "../../src/runtime/os/random.ts";
import { Connection } from "../../src/runtime/rpc/connection.ts";
import { connectProven } from "../../src/runtime/rpc/handshake.ts";
import { decodeHeader, encodeHeader } from "../../src/runtime/wire/header.ts";
import { type HelloHeader, MESSAGE } from "../../src/runtime/wire/messages.ts";
import { driverRuntime, failureOf, until } from "./session.ts";

const TAG = "a".repeat(16);
const NODE = "a".repeat(32) as NodeId;
const OTHER = "b".repeat(32);

/** Returns a good header for each message, as `process` sends it. */
function goodHeaders(process: string): Readonly<Record<number, unknown>> {
  const location = [`${process.slice(0, 28)}-7`, 0, 64, "memory"];
  const id = "c".repeat(32);
  const object = `${id}00000000`;
  const payload = { inBand: 0, buffers: [], graph: false, error: false, definitions: [], refs: [[object, process]], stored: undefined };
  // Resources that no node has: well-formed requests of a program are granted, and others would wait for it.
  const shape = 'none:10000,,{"node":["x",true],"labels":[["zone","in(a)"]],"bundle":["g",0,true]}';
  const actorOptions = {
    name: undefined,
    namespace: "n",
    getIfExists: false,
    resources: { none: 1 },
    shape,
    group: undefined,
    maxRestarts: 0,
    isDetached: false,
    interface: {
      className: "C",
      methods: { m: { name: "m" } },
      groups: { default: 1 },
      maxTaskRetries: 0,
      maxPendingCalls: -1,
      allowOutOfOrderExecution: false,
    },
  };
  return {
    [MESSAGE.LEASE_DEMAND]: { shape, backlog: 1, near: [[TAG, 1, 5]], first: { link: 1, taskIdPrefix: "p", once: true } },
    [MESSAGE.FIRST_CALLS_BACK]: [1],
    [MESSAGE.RELAYED]: [OTHER, 1],
    [MESSAGE.LEASE_RETURN]: [OTHER, 1],
    [MESSAGE.LEASE_ONCE]: [OTHER, 1],
    [MESSAGE.LEASE_RECLAIMED]: [OTHER, 1, [[1, 1]]],
    [MESSAGE.WORKER_PARK]: { left: 1, isReport: true },
    [MESSAGE.WORKER_UNPARK]: shape,
    [MESSAGE.WORKER_EXIT]: { ending: "exited", reason: "so" },
    [MESSAGE.WORKER_RETIRING]: undefined,
    [MESSAGE.DEFINE]: {
      number: 0,
      id,
      contentId: id,
      name: "f",
      inBand: 0,
      buffers: [],
      dependencies: [],
      refs: [[object, process]],
      stored: undefined,
    },
    [MESSAGE.FETCH_DEFINITION]: id,
    [MESSAGE.REF_HOLD]: [[object, OTHER, process, 1, 1]],
    [MESSAGE.REF_RELEASE]: [[object, 1, OTHER]],
    [MESSAGE.REF_ADOPT]: [object],
    [MESSAGE.REF_WATCH]: [object, OTHER],
    [MESSAGE.REF_VALUE]: [object, OTHER, payload],
    [MESSAGE.REF_LOST]: [object, OTHER, location],
    [MESSAGE.REF_KNOWN]: [[object, payload]],
    [MESSAGE.HELD_READ]: [OTHER, 1, 1, process],
    [MESSAGE.HELD_ENDED]: [OTHER, 1],
    [MESSAGE.ARENA_LOST]: location,
    [MESSAGE.STORE_ARENA]: [location[0], "memory", 64],
    [MESSAGE.STORE_SEALED]: [[location, process, 1]],
    [MESSAGE.STORE_FREED]: [[location, false]],
    [MESSAGE.STORE_CLAIM]: [[location, 1]],
    [MESSAGE.STORE_COLLECT]: undefined,
    [MESSAGE.STORE_RETIRE]: [location[0]],
    [MESSAGE.STORE_USE]: { mapped: [[location[0], 1]], restored: [0, 0] },
    [MESSAGE.STORE_LINK_ENDED]: [OTHER, 1],
    [MESSAGE.OBJECT_FETCH]: [object, location, 0, process],
    [MESSAGE.COPY_RELEASE]: [location],
    [MESSAGE.OBJECT_LOCATE]: [[object, location, process]],
    [MESSAGE.ACTOR_CREATE]: { actorId: id, definition: id, args: payload, deps: [payload], options: actorOptions },
    [MESSAGE.ACTOR_LOOKUP]: { name: "x", namespace: "n" },
    [MESSAGE.ACTOR_WATCH]: id,
    [MESSAGE.ACTOR_KILL]: { actorId: id, restart: false },
    [MESSAGE.ACTOR_LIST]: { includeDead: true, namespace: undefined },
    [MESSAGE.ACTOR_STARTED]: { actorId: id, incarnation: 0 },
    [MESSAGE.ACTOR_START_FAILED]: { actorId: id, incarnation: 0, error: payload },
    [MESSAGE.WAITS]: {
      began: [{ number: 1, task: id, name: "t", actor: undefined, for: [{ task: id, name: "u", actor: undefined }] }],
      ended: [1],
    },
    [MESSAGE.NODES]: undefined,
    [MESSAGE.RESOURCES]: undefined,
    [MESSAGE.SHUTDOWN]: undefined,
    [MESSAGE.CLUSTER_STATUS]: undefined,
    [MESSAGE.CLUSTER_DEMAND]: undefined,
    [MESSAGE.DEMAND_VERDICTS]: [["CPU:10000", "fits"]],
    [MESSAGE.NODE_DRAIN]: { node: "no such node", deadlineMs: 1 },
    [MESSAGE.JOIN_TOKENS]: { do: "revoke", id: "x" },
    [MESSAGE.CANCEL_REF]: { id: object, owner: OTHER, force: false, recursive: true },
    [MESSAGE.CANCEL_RUNNING]: { worker: OTHER, callId: 1, recursive: true, kill: false },
    [MESSAGE.CALL_DEADLINE]: [1, 0],
    [MESSAGE.GROUP_CREATE]: {
      id,
      name: "g",
      namespace: "n",
      strategy: "PACK",
      bundles: [{ none: 1 }],
      labels: [{}],
      isDetached: false,
      owner: process,
    },
    [MESSAGE.GROUP_REMOVE]: id,
    [MESSAGE.GROUP_WATCH]: id,
    [MESSAGE.GROUP_LOOKUP]: { name: "g", namespace: "n" },
    [MESSAGE.GROUPS]: undefined,
    [MESSAGE.WHY_LEASE]: { shape },
    [MESSAGE.WHY_REF]: { id: object, owner: OTHER, trail: { visited: [[id, "t"]], withinMs: 5 } },
    [MESSAGE.WHY_PLACE]: { shape },
    [MESSAGE.ENVIRONMENT]: {
      key: "k1",
      description: {
        envVars: { A: "b" },
        job: { node: NODE, hostname: "h", jobId: "01020304", namespace: "n", directory: "/x", directoryIdentity: undefined, execArgv: [] },
        workingDir: "/x",
        workingDirAt: { node: NODE, hostname: "h" },
      },
    },
    [MESSAGE.KV_PUT]: { namespace: "n", key: "k", form: "json", overwrite: true },
    [MESSAGE.KV_GET]: { namespace: "n", key: "k", withValue: true },
    [MESSAGE.KV_DELETE]: { namespace: "n", key: "k" },
    [MESSAGE.KV_LIST]: { namespace: "n", prefix: "k" },
    [MESSAGE.EXTENSION]: { extension: "e", message: "m", header: 1 },
    [MESSAGE.NODE_EXTENSION]: { extension: "e", message: "m", header: 1 },
    [MESSAGE.NODE_STATE]: { node: NODE, resource: "jobs", query: { filters: [["status", "=", "x"]], limit: 1, detail: true } },
    [MESSAGE.CALL_FAILED]: { caller: OTHER, callId: 1, type: "Error", message: "m", stack: "s" },
    [MESSAGE.LOG_LIST]: { node: NODE, glob: "*" },
    [MESSAGE.LOG_READ]: { node: NODE, name: "node.log", from: "1.2:3", tail: 1, taskId: "a", withMarks: true },
    [MESSAGE.INSPECT]: { node: NODE, process: NODE, work: "stack", durationMs: 0 },
    [MESSAGE.INSPECT_READ]: { node: NODE, id: "00", at: 0 },
    [MESSAGE.NODE_METRICS]: { node: NODE },
    [MESSAGE.NODE_SERIES]: { node: NODE, names: ["node_cpu_used"], sinceMs: 1 },
    [MESSAGE.METRICS]: [
      {
        name: "m",
        description: "d",
        kind: "histogram",
        tagKeys: ["k"],
        boundaries: [1],
        series: [{ tags: ["x"], value: 1, counts: [1, 0] }],
      },
    ],
  };
}

/** Wrong values for a part of a header: other types, huge and negative numbers, ids of others, paths. */
const WRONG: readonly unknown[] = [
  null,
  undefined,
  7,
  -1,
  2 ** 53,
  1e308,
  Number.NaN,
  true,
  "",
  "../../x",
  "x".repeat(500),
  OTHER,
  "d".repeat(32),
  [],
  {},
  [[[]]],
  { toString: 1 },
  "CPU:-1",
  'CPU:10000,,{"labels":7}',
  'CPU:10000,,{"node":[7,7]}',
];

/** Headers of each message that a real program sends. */
const SAMPLE = 8;

/** Yields the header with a part replaced, for each part and each wrong value; and without the part. */
function* wrongHeaders(good: unknown): Generator {
  yield* WRONG;
  if (typeof good !== "object" || good === null) return;
  for (const key of Object.keys(good)) {
    const part = (good as Record<string, unknown>)[key];
    for (const wrong of wrongHeaders(part)) yield Array.isArray(good) ? good.with(Number(key), wrong) : { ...good, [key]: wrong };
    yield Array.isArray(good) ? good.toSpliced(Number(key), 1) : Object.fromEntries(Object.entries(good).filter(([name]) => name !== key));
  }
}

const asSent = (header: unknown): unknown => decodeHeader(Uint8Array.from(encodeHeader(header)));

describe("the shapes", () => {
  const process = `${TAG}${"1".repeat(16)}`;
  const good = goodHeaders(process);
  const fault = (type: number, header: unknown): string | undefined => faultOfMessage({ type, body: new Uint8Array(0) }, header);

  test("each message of a process has a good header, which is taken", () => {
    expect(new Set(Object.keys(good).map(Number))).toEqual(new Set(messagesOfProcesses()));
    for (const [type, header] of Object.entries(good)) expect(fault(Number(type), asSent(header))).toBeUndefined();
  });

  test("messages of others are refused by name, and so are those that do not exist", () => {
    for (const type of [MESSAGE.ROUTED, MESSAGE.NODE_REGISTER, MESSAGE.ENVIRONMENT_FETCH, MESSAGE.LOG, MESSAGE.HELLO, MESSAGE.STORE_ADOPT])
      expect(fault(type, {})).toMatch(/^message [A-Z_]+ \(\d+\) is not one that a process sends to its node$/);
    expect(fault(255, {})).toBe("message 255 is not one that a process sends to its node");
    expect(fault(MESSAGE.LEASE_DEMAND, { shape: "CPU:10000", backlog: -1 })).toBe(
      "message LEASE_DEMAND (10) is malformed: its header.backlog is not a whole number from 0 on: received -1",
    );
    expect(
      fault(MESSAGE.REF_VALUE, [OTHER, OTHER, { inBand: 9, buffers: [], graph: false, error: false, definitions: [], refs: [] }]),
    ).toContain("its header tells of 9 bytes, its body has 0");
  });

  test("what the daemon lets through is taken by the head and by other nodes", () => {
    let refused = 0;
    let passed = 0;
    for (const [key, header] of Object.entries(good)) {
      const type = Number(key);
      for (const wrong of wrongHeaders(header)) {
        const sent = asSent(wrong);
        if (fault(type, sent) !== undefined) {
          refused += 1;
          continue;
        }
        passed += 1;
        // Messages that the daemon answers itself, or passes to another node, are not the head's.
        if (HEAD.has(type)) checkNode(NODE, MESSAGE.ROUTED, [process, "", type, 1, 0, type === MESSAGE.RESOURCES ? { store: {} } : sent]);
        if (SPLIT.has(type))
          checkRouted({ source: TAG as NodeTag, daemonId: OTHER as ProcessId }, [process as ProcessId, "", type, 0, 0, sent]);
      }
    }
    expect(refused).toBeGreaterThan(2000);
    expect(passed).toBeGreaterThan(100);
  });
});

const HEAD: ReadonlySet<number> = new Set([
  MESSAGE.DEFINE,
  MESSAGE.FETCH_DEFINITION,
  MESSAGE.ENVIRONMENT,
  MESSAGE.ACTOR_CREATE,
  MESSAGE.ACTOR_LOOKUP,
  MESSAGE.ACTOR_WATCH,
  MESSAGE.ACTOR_KILL,
  MESSAGE.ACTOR_LIST,
  MESSAGE.ACTOR_STARTED,
  MESSAGE.ACTOR_START_FAILED,
  MESSAGE.WAITS,
  MESSAGE.NODES,
  MESSAGE.RESOURCES,
  MESSAGE.CLUSTER_STATUS,
  MESSAGE.CLUSTER_DEMAND,
  MESSAGE.DEMAND_VERDICTS,
  MESSAGE.JOIN_TOKENS,
  MESSAGE.NODE_DRAIN,
  MESSAGE.WHY_PLACE,
  MESSAGE.GROUPS,
  MESSAGE.GROUP_CREATE,
  MESSAGE.GROUP_REMOVE,
  MESSAGE.GROUP_WATCH,
  MESSAGE.GROUP_LOOKUP,
  MESSAGE.KV_PUT,
  MESSAGE.KV_GET,
  MESSAGE.KV_DELETE,
  MESSAGE.KV_LIST,
  MESSAGE.EXTENSION,
]);

const SPLIT: ReadonlySet<number> = new Set([
  MESSAGE.REF_HOLD,
  MESSAGE.HELD_READ,
  MESSAGE.HELD_ENDED,
  MESSAGE.REF_RELEASE,
  MESSAGE.STORE_FREED,
  MESSAGE.STORE_CLAIM,
  MESSAGE.ARENA_LOST,
  MESSAGE.REF_WATCH,
  MESSAGE.REF_LOST,
  MESSAGE.CANCEL_REF,
  MESSAGE.WHY_REF,
  MESSAGE.CANCEL_RUNNING,
  MESSAGE.LEASE_RETURN,
  MESSAGE.LEASE_ONCE,
  MESSAGE.OBJECT_LOCATE,
]);

class Counter {
  #count = 0;
  increment(): number {
    this.#count += 1;
    return this.#count;
  }
}

describe("a program of a cluster", () => {
  const lines: string[] = [];
  let cluster: TestCluster;
  let node: NodeFile;

  beforeAll(async () => {
    cluster = await TestCluster.start({ head: { numCpus: 2 }, onLine: (line) => void lines.push(line) });
    await cluster.addNode({ numCpus: 1 });
    await init({ address: cluster.address, logToDriver: false });
    const { nodeId } = driverRuntime().options;
    node = readNodeFiles().find((file) => file.nodeId === nodeId) as NodeFile;
  });
  afterAll(async () => {
    await shutdown();
    await cluster.shutdown();
    // Said by the head, and by a node of another, when they end a link.
    const ended = lines.filter((line) => line.includes("ended a connection of node"));
    if (ended.length > 0) throw new Error(`links of nodes were ended:\n${ended.join("\n")}`);
  });

  const helloOf = (changes: Partial<HelloHeader> = {}): HelloHeader => {
    const processId = `${node.nodeId.slice(0, 16)}${randomHex(8)}` as ProcessId;
    return {
      processId,
      holderId: processId,
      kind: "driver",
      pid: process.pid,
      address: "",
      taskIdPrefix: "",
      jobId: "" as JobId,
      ...changes,
    };
  };

  /** Starts a program on a separate connection; `refused` resolves with the reason when the connection is closed. */
  async function faultyProgram(
    changes: Partial<HelloHeader> = {},
  ): Promise<{ connection: Connection; refused: Promise<string>; id: ProcessId }> {
    const hello = helloOf(changes);
    const connection = new Connection(await connectProven(node.socket, { token: node.token, processId: hello.processId }), {
      trusted: true,
    });
    const refused = new Promise<string>((resolve) => {
      let reason = "";
      connection.onFrame = (frame) => {
        if (frame.type === MESSAGE.MESSAGE_REFUSED) reason = String(decodeHeader(frame.header));
      };
      connection.onClose = () => resolve(reason);
    });
    await connection.request(MESSAGE.HELLO, hello);
    return { connection, refused, id: hello.processId };
  }

  async function clusterWorks(): Promise<void> {
    const began = performance.now();
    using asked = await connectToCluster(cluster.address);
    const areAlive = async (): Promise<boolean> => {
      const { nodes: found } = await asked.ask(MESSAGE.CLUSTER_STATUS, undefined);
      return found.length === 2 && found.every(({ state }) => state === "alive");
    };
    // A node that the machine has kept from speaking for two seconds is suspect until it is heard again.
    await until(areAlive, "both nodes to be alive");
    expect(await nodes()).toHaveLength(2);
    expect(await remote((x: number) => x + 1).remote(1)).toBe(2);
    // Far below the second after which a link that was ended is tried again, thrice.
    expect(performance.now() - began).toBeLessThan(10_000);
  }

  test("with a hello of nobody, of another node or of a process that is connected is told so", async () => {
    const other = "e".repeat(32) as ProcessId;
    for (const [changes, reason] of [
      [{ processId: "x" as ProcessId, holderId: "x" as ProcessId }, "its hello is malformed"],
      [{ processId: other, holderId: other }, "is not a process of this node"],
      [{ kind: "daemon" as const }, "its hello is malformed: its header.kind is not one of"],
      [{ pid: -1 }, "its header.pid is not a whole number from 0 on: received -1"],
      [{ processId: driverRuntime().options.processId, holderId: driverRuntime().options.processId }, "is connected already"],
    ] as const)
      expect(await (await faultyProgram(changes)).refused).toContain(reason);
    await clusterWorks();
  });

  test("whatever it sends in whatever form ends itself, and nobody else", async () => {
    const counter = remote(Counter).remote();
    await ready(counter);
    let counted = 0;
    const over = new AbortController();
    // A second program works meanwhile; its calls do not fail.
    const work = (async () => {
      while (!over.signal.aborted) {
        counted += 1;
        expect(await counter.increment.remote()).toBe(counted);
        if (counted % 20 === 0) expect(await get([1, 2].map((x) => remote((y: number) => y * 2).remote(x)))).toEqual([2, 4]);
      }
    })();
    let programs = 0;
    for (const type of messagesOfProcesses()) {
      let program = await faultyProgram();
      const headers = Array.from(wrongHeaders(goodHeaders(program.id)[type]));
      // A sample, as each refusal takes a connection: the shapes above have all of them.
      for (let sent = 1; sent <= SAMPLE; sent += 1) {
        const wrong = headers[Math.floor((sent * headers.length) / (SAMPLE + 1))];
        program.connection.send(type, wrong, { callId: sent });
        if (faultOfMessage({ type, body: new Uint8Array(0) }, asSent(wrong)) === undefined) continue;
        expect(await program.refused, `${type} ${JSON.stringify(wrong)}`).toMatch(
          new RegExp(`^message [A-Z_]+ \\(${type}\\) is malformed: `),
        );
        program = await faultyProgram();
        programs += 1;
      }
      program.connection.drop("done");
    }
    expect(programs).toBeGreaterThan(messagesOfProcesses().length * 2);
    over.abort();
    await work;
    await clusterWorks();
  }, 120_000);

  test("thousands of malformed frames at once end it at the first", async () => {
    const { connection, refused } = await faultyProgram();
    for (let index = 0; index < 56_000; index += 1) connection.send(MESSAGE.ACTOR_KILL, { actorId: index });
    expect(await refused).toBe("message ACTOR_KILL (63) is malformed: its header.actorId is not a string: received 0");
    await clusterWorks();
  });

  test("a header that cannot be read, and messages of daemons, end it, too", async () => {
    // The connection itself handles these two, from any sender.
    const ownOfConnections: readonly number[] = [MESSAGE.REPLY, MESSAGE.OUTBOX];
    for (const type of Object.values(MESSAGE).filter((one) => !messagesOfProcesses().includes(one) && !ownOfConnections.includes(one))) {
      const { connection, refused } = await faultyProgram();
      connection.send(type, { nodeId: node.nodeId });
      expect(await refused).toMatch(/is not one that a process sends to its node$/);
    }
    await clusterWorks();
  });

  test("an actor's handles that it counts for another node are not the head's business", async () => {
    const there = (await nodes()).find(({ nodeId }) => nodeId !== node.nodeId) as { nodeId: string };
    const create = remote(async () => {
      const made = remote(Counter).options({ name: "elsewhere", lifetime: "detached" }).remote();
      await ready(made);
    });
    await create.options({ schedulingStrategy: { nodeId: there.nodeId, soft: false } }).remote();
    const counter: ActorHandle<Counter> = await getActor<Counter>("elsewhere");
    const { actorId } = (await actors()).find(({ name }) => name === "elsewhere") as { actorId: string };
    const program = await faultyProgram();
    program.connection.send(MESSAGE.REF_HOLD, [[`${actorId}ffffffff`, node.daemonId, program.id]]);
    program.connection.send(MESSAGE.REF_RELEASE, [[`${actorId}ffffffff`, 1, node.daemonId]]);
    program.connection.send(MESSAGE.ACTOR_LIST, { includeDead: false }, { callId: 1 });
    await clusterWorks();
    expect(await counter.increment.remote()).toBe(1);
    program.connection.drop("done");
  });

  test("a program sees what was refused, and begins again", async () => {
    const pending = remote(() => new Promise(() => {})).remote();
    driverRuntime().daemon.send(MESSAGE.LEASE_DEMAND, { shape: 5, backlog: 1 });
    const error = await failureOf(pending);
    expect(error.message).toContain(
      "message LEASE_DEMAND (10) is malformed: its header.shape is not the text of a lease's shape: received 5",
    );
    await until(async () => {
      await shutdown();
      return true;
    }, "its session to be over");
    await init({ address: cluster.address, logToDriver: false });
    await clusterWorks();
  });
});
