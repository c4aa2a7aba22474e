/**
 * A client that counts: sends numbered requests without a pause and keeps what became of each, so that a test can tell whether one was lost or answered twice.
 *
 * Replicas append the number of each request that they begin to a file; a number that stands there twice was run twice.
 */
import { Agent, request } from "node:http";
import { type AnyActorHandle, kill, remote } from "shoal";
import * as serve from "shoal/serve";
import type { TestCluster, TestNode } from "shoal/testing";
import { onTestFinished } from "vitest";
import { isAlive, type Log, shoalProcesses } from "./session.ts";

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: NodeJS.Dict<string | string[]>;
}

/** Sends a request over connections that are kept alive. */
export function ask(
  address: string,
  path: string,
  options: { method?: string; headers?: Record<string, string | string[]>; body?: string | Uint8Array; agent?: Agent } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { method = "GET", headers = {}, body, agent } = options;
    const sent = request(`${address}${path}`, { method, headers, ...(agent === undefined ? {} : { agent }) }, (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(pieces).toString(), headers: response.headers }),
      );
      response.on("error", reject);
      response.on("aborted", () => reject(new Error("the answer broke off")));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

export class CountingClient {
  /** By number. */
  readonly answers = new Map<number, Answer>();
  readonly failures: string[] = [];
  readonly #address: string;
  readonly #agent = new Agent({ keepAlive: true });
  #next = 0;
  #isStopped = false;
  readonly #loops: Promise<void>[] = [];

  /** Begins at once. Asks `/path?n=NUMBER`, so many at a time. */
  constructor(
    address: string,
    { path = "/", atATime = 8, via }: { path?: string; atATime?: number; via?: (n: number) => PromiseLike<string> } = {},
  ) {
    this.#address = address;
    // A test that fails does not come to its `stop`, and a client whose server has gone fails without a pause.
    onTestFinished(() => void this.stop());
    for (let index = 0; index < atATime; index += 1) this.#loops.push(this.#loop(path, via));
  }

  get sent(): number {
    return this.#next;
  }

  /** Resolves when so many more have been answered. */
  async more(count: number): Promise<void> {
    const until = this.answers.size + this.failures.length + count;
    while (this.answers.size + this.failures.length < until) await new Promise((resolve) => setTimeout(resolve, 2));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#loops);
    this.#agent.destroy();
  }

  /** Numbers that were begun more than once. */
  static twice(log: Log): string[] {
    const seen = new Set<string>();
    return log.lines.filter((line) => (seen.has(line) ? true : (seen.add(line), false)));
  }

  async #loop(path: string, via: ((n: number) => PromiseLike<string>) | undefined): Promise<void> {
    while (!this.#isStopped) {
      const n = this.#next;
      this.#next += 1;
      try {
        const answer =
          via === undefined
            ? await ask(this.#address, `${path}?n=${n}`, { agent: this.#agent })
            : { status: 200, body: await via(n), headers: {} };
        this.answers.set(n, answer);
        if (answer.status !== 200) this.failures.push(`${n}: ${answer.status} ${answer.body}`);
      } catch (error) {
        this.failures.push(`${n}: ${(error as Error).message}`);
      }
    }
  }
}

class Holder {
  ready(): void {}
}

/** Takes all CPUs of a node of two: a full node gets no actor, even one without resources. @returns the actor whose death frees them */
export async function fullNode(nodeId: string): Promise<AnyActorHandle> {
  const holder = remote(Holder, { numCpus: 2, schedulingStrategy: { nodeId } }).remote();
  await holder.ready.remote();
  return holder;
}

/** Starts Serve with its controller on another node than the first, on which the test's own driver hangs. @returns the node */
export async function startAwayFromDriver(cluster: TestCluster, options: serve.StartOptions): Promise<TestNode> {
  const [first] = cluster.nodes as [TestNode];
  const holder = await fullNode(first.nodeId);
  await serve.start(options);
  await kill(holder);
  const health = await serve.controllerHealth();
  const node = cluster.nodes.find(({ nodeId }) => nodeId === health?.nodeId);
  if (node === undefined || node === first) throw new Error("the controller is on the first node");
  return node;
}

/** SIGKILL for the daemon and for each worker, as when a machine loses its power. */
export async function loses(node: TestNode): Promise<void> {
  const workers = shoalProcesses({ under: node.pid });
  await node.kill();
  for (const pid of workers) if (isAlive(pid)) process.kill(pid, "SIGKILL");
}
