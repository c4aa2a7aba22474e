/**
 * The NATS of a chaos run: one server, or three that replicate each other over TLS, each under the supervisor that a head has for its own.
 *
 * A server that was killed is started again by its supervisor after 100 ms; one that is to be away for longer is killed as often as it comes.
 */
import { join } from "node:path";
import type { TestNats } from "shoal/testing";
import { natsServerBinary } from "../scripts/nats-server.mjs";
import type { NodeId } from "../src/runtime/base/ids.ts";
import { certifyNode, newAuthority, newNodeKey } from "../src/runtime/os/network/certificates.ts";
import { NatsProcess, type TlsTexts } from "../src/runtime/nats/server/nats-process.ts";
import { HEAD_NAME } from "../src/runtime/os/network/tls-identity.ts";
import { freePorts } from "../test/control-plane/free-ports.ts";
import { nowMs } from "./clock.ts";
import { signal } from "./processes.ts";

const HOST = "127.0.0.1";
const TOKEN = "token of the chaos";
const SECRET = "secret of the routes";
const LOOK_EVERY_MS = 10;
const READY_WITHIN_MS = 30_000;

export class ChaosNats {
  readonly access: TestNats;
  readonly #servers: readonly NatsProcess[];

  private constructor(servers: readonly NatsProcess[], ca: string | undefined) {
    this.#servers = servers;
    this.access = {
      urls: servers.map(({ url }) => url),
      token: TOKEN,
      replicas: servers.length,
      ...(ca !== undefined && { tls: { ca, serverName: HEAD_NAME } }),
    };
  }

  /** @param count 1 without TLS, or 3 with it, as between machines */
  static async start(folder: string, count: 1 | 3): Promise<ChaosNats> {
    const ports = count === 1 ? [] : await freePorts(count);
    const routes = ports.map((port) => `nats://${HOST}:${port}`);
    const authority = newAuthority({ nowMs: Date.now() });
    const tlsOf = (): TlsTexts => {
      const { key, publicKey } = newNodeKey();
      const nodeId = "a".repeat(32) as NodeId;
      return {
        ca: authority.ca,
        certificate: certifyNode(authority, { nodeId, publicKey, isHead: true, hosts: [HOST], nowMs: Date.now() }),
        key,
      };
    };
    const servers = await Promise.all(
      Array.from({ length: count }, (_, index) =>
        NatsProcess.start({
          program: natsServerBinary(),
          folder: join(folder, `nats-${index}`),
          cluster: "chaos",
          name: `n${index}`,
          host: HOST,
          port: 0,
          access: { token: TOKEN },
          ...(count > 1 && { tls: tlsOf(), routes: { host: HOST, port: ports[index] as number, routes, secret: SECRET } }),
        }),
      ),
    );
    return new ChaosNats(servers, count > 1 ? authority.ca : undefined);
  }

  get count(): number {
    return this.#servers.length;
  }

  /** SIGKILL for these, and again for as long as it is to last. */
  async killFor(indices: readonly number[], ms: number): Promise<void> {
    const end = nowMs() + ms;
    do {
      for (const index of indices) {
        const pid = this.#servers[index]?.pid;
        if (pid !== undefined) signal(pid, "SIGKILL");
      }
      await sleep(LOOK_EVERY_MS);
    } while (nowMs() < end);
  }

  /** SIGSTOP: connections stay open, and nobody answers. */
  async stopFor(indices: readonly number[], ms: number): Promise<void> {
    const pids = indices.flatMap((index) => this.#servers[index]?.pid ?? []);
    for (const pid of pids) signal(pid, "SIGSTOP");
    await sleep(ms);
    for (const pid of pids) signal(pid, "SIGCONT");
  }

  /** Resolves when every server runs. */
  async allRun(): Promise<void> {
    const end = nowMs() + READY_WITHIN_MS;
    while (this.#servers.some(({ pid }) => pid === undefined) && nowMs() < end) await sleep(LOOK_EVERY_MS);
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.close()));
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
