/**
 * Real nats-servers for tests: one, or several that replicate each other, which can be killed, stopped and started again.
 *
 * Each runs below a shell that ends it when the test process is gone, however that ends, so that none is left behind. State lies in a temporary folder
 * that `close` removes. Ports are chosen before, as clients and other servers have to know them: where somebody else was faster, others are chosen.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { natsServerBinary } from "../../scripts/nats-server.mjs";
import { connectNats } from "../../src/runtime/nats/nats-link.ts";
import { natsServerConfig } from "../../src/runtime/nats/server/nats-config.ts";
import { freePorts } from "./free-ports.ts";

/** Error of `start`: another process listens at a port that was free. */
const TRIES_MAX = 5;
/**
 * Waits for the server; the end of our pipe is the end of the server. The process that waits for the pipe ends with the server. Its number
 * soon belongs to another process, which the end of the test process would kill.
 */
const KEEPER = '"$@" & server=$!; echo $server; (read -r _; kill -9 $server) <&3 & guard=$!; wait $server; kill $guard';

/** Why tests with NATS cannot run here; undefined when they can. */
export const WITHOUT_NATS: string | undefined = findProblem();

function findProblem(): string | undefined {
  try {
    natsServerBinary();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

interface ServerOptions {
  readonly port: number;
  readonly token: string | undefined;
  readonly cluster: { readonly port: number; readonly routes: readonly string[] } | undefined;
}

interface Server {
  readonly name: string;
  readonly configFile: string;
  readonly portsFolder: string;
  keeper: ChildProcess | undefined;
  pid: number;
}

export class NatsServers implements AsyncDisposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), "shoal-nats-servers-"));
  readonly #servers: Server[] = [];
  readonly urls: string[] = [];

  static async start(wanted: { count?: number; token?: string } = {}): Promise<NatsServers> {
    for (let tries = 1; ; tries += 1) {
      const servers = await NatsServers.#chosen(wanted);
      try {
        await Promise.all(servers.#servers.map((_, index) => servers.restart(index)));
        if (servers.count > 1) await servers.#haveLeader(wanted.token);
        return servers;
      } catch (error) {
        const wasTaken = servers.#servers.some((_, index) => servers.log(index).includes("address already in use"));
        await servers.close();
        if (!wasTaken || tries === TRIES_MAX) throw error;
      }
    }
  }

  static async #chosen({ count = 1, token }: { count?: number; token?: string }): Promise<NatsServers> {
    const servers = new NatsServers();
    const ports = await freePorts(count * 2);
    const routes = ports.slice(count).map((port) => `nats://127.0.0.1:${port}`);
    for (let index = 0; index < count; index += 1) {
      const port = ports[index] as number;
      servers.#add(`n${index}`, { port, token, cluster: count > 1 ? { port: ports[count + index] as number, routes } : undefined });
    }
    return servers;
  }

  get count(): number {
    return this.#servers.length;
  }

  indexOf(name: string): number {
    return this.#servers.findIndex((server) => server.name === name);
  }

  /** SIGKILL: data that was not on disk is lost. */
  async kill(index: number): Promise<void> {
    const server = this.#servers[index] as Server;
    const { keeper } = server;
    if (keeper === undefined) return;
    server.keeper = undefined;
    // The server may have ended by itself.
    if (hasEnded(keeper)) return;
    const ended = new Promise((resolve) => keeper.once("exit", resolve));
    // The process that waits for the end of the pipe knows whether the number is still the server's.
    keeper.stdio[3]?.destroy();
    await ended;
  }

  /** SIGSTOP: its connections stay open and nothing answers, the hardest failure to notice. */
  pause(index: number): void {
    process.kill((this.#servers[index] as Server).pid, "SIGSTOP");
  }

  resume(index: number): void {
    process.kill((this.#servers[index] as Server).pid, "SIGCONT");
  }

  async restart(index: number): Promise<void> {
    const server = this.#servers[index] as Server;
    rmSync(server.portsFolder, { recursive: true, force: true });
    mkdirSync(server.portsFolder);
    const keeper = spawn("sh", ["-c", KEEPER, "sh", natsServerBinary(), "-c", server.configFile], {
      stdio: ["ignore", "pipe", "ignore", "pipe"],
    });
    server.keeper = keeper;
    server.pid = Number(
      await new Promise<string>((resolve, reject) => {
        keeper.stdout?.once("data", (data) => resolve(String(data)));
        keeper.once("error", reject);
        keeper.once("exit", () => reject(new Error(`${server.name} did not begin`)));
      }),
    );
    const isReady = (): boolean => existsSync(server.portsFolder) && readdirSync(server.portsFolder).length > 0;
    await until(() => isReady() || hasEnded(keeper), `${server.name} is ready`);
    if (hasEnded(keeper)) throw new Error(`${server.name} ended:\n${this.log(index)}`);
  }

  /** Returns the server's last lines, for a test that failed. */
  log(index: number): string {
    const file = `${(this.#servers[index] as Server).configFile}.log`;
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  }

  async close(): Promise<void> {
    for (const [index, server] of this.#servers.entries()) {
      if (server.keeper !== undefined) await this.kill(index);
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Nothing can be stored before, and a machine with much else to do takes longer for it than the product waits. */
  async #haveLeader(token: string | undefined): Promise<void> {
    await using link = await connectNats({ servers: this.urls, name: "test", ...(token !== undefined && { token }) });
    const isAnswered = async (): Promise<boolean> => {
      const answer = await link.request("$JS.API.INFO", "", { timeoutMs: 1000 }).catch(() => undefined);
      return answer !== undefined && answer.json<{ error?: object }>().error === undefined;
    };
    await until(isAnswered, "the servers have a leader");
  }

  #add(name: string, { port, token, cluster }: ServerOptions): void {
    const configFile = join(this.folder, `${name}.conf`);
    const portsFolder = join(this.folder, `${name}.ports`);
    const config = natsServerConfig({
      name,
      host: "127.0.0.1",
      port,
      folder: join(this.folder, name),
      portsFolder,
      ...(token !== undefined && { token }),
      ...(cluster && { cluster: { name: "test", host: "127.0.0.1", ...cluster } }),
    });
    writeFileSync(configFile, `${config}logfile: ${JSON.stringify(`${configFile}.log`)}\n`, { mode: 0o600 });
    this.#servers.push({ name, configFile, portsFolder, keeper: undefined, pid: 0 });
    this.urls.push(`nats://127.0.0.1:${port}`);
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

export async function until(isTrue: () => boolean | Promise<boolean>, what: string, timeoutMs = 30_000): Promise<void> {
  const giveUpAt = Date.now() + timeoutMs;
  while (!(await isTrue())) {
    if (Date.now() > giveUpAt) throw new Error(`waited ${timeoutMs} ms until ${what}`);
    await sleep(20);
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
