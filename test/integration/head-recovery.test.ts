/**
 * A head that is killed and started again: with its tables in NATS, and nodes, workers and a program that go on meanwhile.
 *
 * The processes are real; the head has the address of the one before it, as a supervisor would give it.
 */
import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import {
  type ActorHandle,
  actors,
  availableResources,
  get,
  getActor,
  init,
  kill,
  kvDelete,
  kvGet,
  kvList,
  kvPut,
  nodes,
  type ObjectRef,
  placementGroup,
  put,
  ready,
  remote,
  shutdown,
} from "shoal";
import { afterEach, beforeEach, expect, test } from "vitest";
import { connectToCluster } from "../../src/ops/connection/cluster-connection.ts";
import { type LocalHead, type LocalNodeProcess, startHead, startNode } from "../../src/ops/providers/local-processes.ts";
import { MESSAGE } from "../../src/runtime/wire/messages.ts";
import { NatsServers } from "../control-plane/nats-servers.ts";
import { describeNats } from "../control-plane/planes.ts";
import { Log, until, useFolder } from "./session.ts";

class Counter {
  #count = 0;
  increment(): number {
    this.#count += 1;
    return this.#count;
  }
  pid(): number {
    return process.pid;
  }
}

class Holder {
  make(bytes: number): { ref: ObjectRef<Uint8Array> } {
    return { ref: put(new Uint8Array(bytes)) };
  }
}

const TOKEN = "token of the test";
const folder = useFolder();
const lines: string[] = [];
const onLine = (line: string): void => void lines.push(line);

describeNats("a head that dies", () => {
  let servers: NatsServers;
  let head: LocalHead;
  let node: LocalNodeProcess;

  async function start(address: string): Promise<LocalHead> {
    const controlPlane = { kind: "nats" as const, urls: servers.urls, cluster: "heads", name: "head" };
    return startHead({ token: TOKEN, address, onLine, controlPlane });
  }

  async function killHead(): Promise<void> {
    head.kill("SIGKILL");
    await head.ended;
  }

  beforeEach(async () => {
    servers = await NatsServers.start();
    head = await start("tcp://127.0.0.1:0");
    node = await startNode({ token: TOKEN, headAddress: head.address, listenAddress: "tcp://127.0.0.1:0", numCpus: 2, onLine });
    await init({ address: head.address });
  });

  afterEach(async () => {
    await shutdown();
    node.kill("SIGTERM");
    head.kill("SIGTERM");
    await Promise.all([node.ended, head.ended]);
    await servers.close();
  });

  test("what runs goes on without it, and the next one knows its actors and restarts them", async () => {
    const counter = remote(Counter).options({ name: "counter", maxRestarts: 1, numCpus: 0 }).remote();
    expect(await get(counter.increment.remote())).toBe(1);
    const pid = await get(counter.pid.remote());
    await killHead();
    expect(await get(counter.increment.remote())).toBe(2);
    expect(await get(remote(() => "a task").remote())).toBe("a task");
    // Asked of no head, and answered by the next.
    const late = remote(Counter).options({ name: "late", numCpus: 0 }).remote();

    head = await start(head.address);
    expect(await get(late.increment.remote())).toBe(1);
    const found: ActorHandle<Counter> = await getActor<Counter>("counter");
    expect(await get(found.increment.remote())).toBe(3);
    expect((await actors()).filter(({ phase }) => phase === "alive").map(({ name }) => name)).toEqual(["counter", "late"]);

    process.kill(pid, "SIGKILL");
    await until(async () => (await get(counter.pid.remote()).catch(() => pid)) !== pid, "the actor is started again");
    expect(await get(found.increment.remote())).toBeGreaterThanOrEqual(1);
    await kill(counter);
    await expect(get(found.increment.remote())).rejects.toThrow("kill()");
  });

  test("what was put by name is there for the next one, and what is put meanwhile waits for it", async () => {
    await kvPut("first", { version: 1 });
    await kvPut("second", new Uint8Array(600_000).fill(7));
    await kvPut("third", 3);
    await kvDelete("third");
    await killHead();
    const late = kvPut("first", { version: 2 }, { overwrite: false });
    const later = kvPut("fourth", "put while there was no head");
    head = await start(head.address);
    expect([await late, await later]).toEqual([false, true]);
    expect(await kvList()).toEqual(["first", "fourth", "second"]);
    expect(await kvGet("first")).toEqual({ version: 1 });
    expect((await kvGet<Uint8Array>("second"))?.every((byte) => byte === 7)).toBe(true);
    expect(await kvGet("fourth")).toBe("put while there was no head");
  });

  test("a node that ended while there was no head is dead for the next one, and its actors live elsewhere", {
    timeout: 90_000,
  }, async () => {
    const beganMs = Date.now();
    const other = await startNode({ token: TOKEN, headAddress: head.address, listenAddress: "tcp://127.0.0.1:0", numCpus: 2, onLine });
    const there = { schedulingStrategy: { nodeId: other.nodeId, soft: true } };
    const counter = remote(Counter)
      .options({ name: "counter", maxRestarts: 1, ...there })
      .remote();
    const pid = await get(counter.pid.remote());
    await killHead();
    other.kill("SIGKILL");
    await other.ended;
    head = await start(head.address);
    await until(async () => (await get(counter.pid.remote()).catch(() => pid)) !== pid, "the actor is started elsewhere");
    expect((await nodes()).map(({ nodeId, alive }) => [nodeId, alive])).toContainEqual([other.nodeId, false]);
    // Nor does a head after that one forget it.
    await killHead();
    const restartedMs = Date.now();
    head = await start(head.address);
    await until(async () => (await nodes()).some(({ nodeId, alive }) => nodeId === other.nodeId && !alive), "the dead node is remembered");
    // With the time at which it was found dead, not that of this head's beginning, nor none.
    using asked = await connectToCluster(head.address);
    const { gone } = await asked.ask(MESSAGE.CLUSTER_STATUS, undefined);
    expect(gone.map(({ nodeId }) => nodeId)).toEqual([other.nodeId]);
    expect(gone[0]?.goneMs).toBeGreaterThan(beganMs);
    expect(gone[0]?.goneMs).toBeLessThan(restartedMs);
    expect(await get(counter.increment.remote())).toBe(1);
  });

  test("a node that is drained is so for the next head before it has come to that", { timeout: 60_000 }, async () => {
    const other = await startNode({ token: TOKEN, headAddress: head.address, listenAddress: "tcp://127.0.0.1:0", numCpus: 1, onLine });
    const gate = `${folder}/drained`;
    const held = remote(async (file: string) => {
      writeFileSync(`${file}-begun`, "");
      while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 10));
      return process.ppid;
    })
      .options({ maxRetries: 0, schedulingStrategy: { nodeId: other.nodeId, soft: false } })
      .remote(gate);
    await until(() => existsSync(`${gate}-begun`), "the task to begin");
    {
      using asked = await connectToCluster(head.address);
      await asked.ask(MESSAGE.NODE_DRAIN, { node: other.nodeId, deadlineMs: undefined });
    }
    other.kill("SIGSTOP");
    await killHead();
    head = await start(head.address);
    expect((await nodes()).map(({ nodeId, draining }) => [nodeId, draining])).toContainEqual([other.nodeId, true]);
    other.kill("SIGCONT");
    writeFileSync(gate, "");
    expect(await held).toBe(other.pid);
    await other.ended;
  });

  test("what waited for room is asked of the next head at once", { timeout: 60_000 }, async () => {
    const waiting = remote(() => process.ppid)
      .options({ resources: { special: 1 } })
      .remote();
    await new Promise((resolve) => {
      setTimeout(resolve, 500);
    });
    await killHead();
    head = await start(head.address);
    const options = { token: TOKEN, headAddress: head.address, listenAddress: "tcp://127.0.0.1:0", onLine };
    const other = await startNode({ ...options, numCpus: 1, resources: { special: 1 } });
    const joinedMs = performance.now();
    expect(await waiting).toBe(other.pid);
    // The node alone would ask again only after fifteen seconds.
    expect(performance.now() - joinedMs).toBeLessThan(10_000);
    other.kill("SIGTERM");
    await other.ended;
  });

  test("an actor whose constructor runs while the head dies is constructed once", async () => {
    const log = new Log(folder);
    class Slow {
      constructor(file: string) {
        appendFileSync(file, "begun\n");
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
        appendFileSync(file, "constructed\n");
      }
      lines(): number {
        return 1;
      }
    }
    const slow = remote(Slow).options({ numCpus: 0 }).remote(log.file);
    await until(() => log.lines.length === 1, "the constructor to run");
    await killHead();
    head = await start(head.address);
    expect(await get(slow.lines.remote())).toBe(1);
    // Calls that waited behind the constructor have run when a second call is answered.
    expect(await get(slow.lines.remote())).toBe(1);
    expect(log.lines).toEqual(["begun", "constructed"]);
  });

  test("a placement group that is removed before a node of it has come to the new head is given back there, too", async () => {
    const other = await startNode({ token: TOKEN, headAddress: head.address, listenAddress: "tcp://127.0.0.1:0", numCpus: 2, onLine });
    const group = placementGroup([{ CPU: 1 }, { CPU: 1 }], { strategy: "STRICT_SPREAD" });
    await group.ready();
    await killHead();
    other.kill("SIGSTOP");
    head = await start(head.address);
    await group.remove();
    other.kill("SIGCONT");
    await until(async () => (await availableResources())["CPU"] === 4, "all of it to be free");
    other.kill("SIGTERM");
    await other.ended;
  });

  test("a node that joins the next one knows of nodes that have not come to it yet, and waits for what they have", {
    timeout: 60_000,
  }, async () => {
    const join = { token: TOKEN, headAddress: head.address, listenAddress: "tcp://127.0.0.1:0", numCpus: 1, onLine };
    const silent = await startNode(join);
    const holder = remote(Holder)
      .options({ schedulingStrategy: { nodeId: silent.nodeId, soft: false } })
      .remote();
    const made = await get(holder.make.remote(1_500_000));
    await killHead();
    silent.kill("SIGSTOP");
    head = await start(head.address);
    // From here: after ten seconds without it the head would take it for dead.
    setTimeout(() => silent.kill("SIGCONT"), 6000);
    const late = await startNode({ ...join, resources: { late: 1 } });
    // A ref inside an argument is read on the node of the task.
    const lengthOf = remote(async ({ ref }: { ref: PromiseLike<Uint8Array> }) => (await ref).length).options({ resources: { late: 1 } });
    const length = lengthOf.remote(made);
    // Nor is it said not to be there, to whoever wants to be on it.
    const there = remote(Counter)
      .options({ numCpus: 0, schedulingStrategy: { nodeId: silent.nodeId, soft: false } })
      .remote();
    expect(await get(there.increment.remote())).toBe(1);
    expect(await get(length)).toBe(1_500_000);
    for (const process of [silent, late]) process.kill("SIGTERM");
    await Promise.all([silent.ended, late.ended]);
  });

  test("an actor that ended while there was no head is started again by the next one", async () => {
    const counter = remote(Counter).options({ name: "counter", maxRestarts: 1, numCpus: 0 }).remote();
    await ready(counter);
    const pid = await get(counter.pid.remote());
    await killHead();
    process.kill(pid, "SIGKILL");
    head = await start(head.address);
    await until(async () => (await get(counter.pid.remote()).catch(() => pid)) !== pid, "the actor is started again");
    expect(await get((await getActor<Counter>("counter")).increment.remote())).toBe(1);
  });
});
