/**
 * The runtime environments of a node, as its daemon has them built: folders come from other nodes and go to them, the work is done by processes of their own.
 *
 * Joins the exchange of packages and the builder with the program that does the work (`entry/environment.ts`), which ends with the daemon. Called by
 * `entry/daemon.ts`; decides nothing but how much is kept of folders that no job uses.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type NodeId, nodeTagOf } from "../runtime/base/ids.ts";
import type { BuildResult } from "../runtime/environment/build.ts";
import { buildWithFolders } from "../runtime/environment/environment-builder.ts";
import type { PackedDirectory } from "../runtime/environment/pack-directory.ts";
import { foldersOf, type ObtainedFolders } from "../runtime/environment/environment-folders.ts";
import { PackageExchange } from "../runtime/environment/package-exchange.ts";
import type { PackagePeer } from "../runtime/environment/package-fetch.ts";
import type { RuntimeEnvSpec } from "../runtime/environment/runtime-env.ts";
import type { JobFolders } from "../runtime/node/environments/environment-service.ts";
import type { EnvironmentDescription, EnvironmentResult } from "../runtime/node/environments/environment-table.ts";
import type { SessionDirectories } from "../runtime/os/files/sessions/session-directory.ts";
import { Child } from "../runtime/os/processes/worker-process.ts";
import type { EnvironmentConfiguration, PackResult } from "./environment.ts";
import type { HeadPeer } from "../runtime/rpc/head-service.ts";
import type { Message } from "../runtime/rpc/peer-connection.ts";
import { MESSAGE } from "../runtime/wire/messages.ts";
import type { PackageAsker } from "../runtime/environment/package-exchange.ts";

/** Limit on the folders that a node keeps although no job uses them. */
const CACHE_BYTES_MAX = 2 * 1024 * 1024 * 1024;
const OUTPUT_LINES_MAX = 20;

export interface NodeEnvironmentsOptions {
  readonly node: NodeId;
  readonly hostname: string;
  readonly directories: SessionDirectories;
  /** Whether a driver's folder that is seen here, too, is used as it is. */
  readonly sharesFolders: boolean;
  /** The file of `entry/environment.ts`. */
  readonly program: string;
  /** The daemon of another node; undefined where it is gone. */
  readonly peer: (node: NodeId) => PackagePeer | undefined;
}

export interface NodeEnvironments {
  readonly folders: JobFolders;
  build(key: string, description: EnvironmentDescription): Promise<EnvironmentResult>;
  /** Ends all builds, which would recreate folders that the daemon has removed. Resolves when they have ended. */
  close(): Promise<void>;
}

export function nodeEnvironments({ node, hostname, directories, sharesFolders, program, peer }: NodeEnvironmentsOptions): NodeEnvironments {
  const here = { node, hostname };
  const builders = new Builders(program);
  const exchange = new PackageExchange({
    here: node,
    hostname,
    cacheFolder: join(directories.spill, "packages"),
    cacheBytesMax: CACHE_BYTES_MAX,
    peer,
    pack: async (request, cacheFolder): Promise<PackedDirectory> => {
      const result = await builders.run<PackResult>({ kind: "pack", request, cacheFolder });
      if ("packed" in result) return result.packed;
      throw new Error(result.failed);
    },
  });
  const folderOf = (key: string): string => join(directories.sockets, `environment-${key}`);
  const run = (key: string, spec: RuntimeEnvSpec, obtained: ObtainedFolders): Promise<BuildResult> => {
    const folder = folderOf(key);
    return builders.run<BuildResult>({ kind: "build", spec, options: { folder, here, obtained } });
  };
  return {
    folders: { ...foldersBy(exchange), remove: (key) => void rm(folderOf(key), { recursive: true, force: true }).catch(() => {}) },
    build: (key, description) =>
      buildWithFolders(key, description as RuntimeEnvSpec, { here, sharesFolders, variables: process.env, packages: exchange, run }),
    close: () => builders.close(),
  };
}

/** The daemon's view of the exchange. An id contains its node, which is enough to ask that node. */
function foldersBy(exchange: PackageExchange): Omit<JobFolders, "remove"> {
  const askerOf = ({ id, connection }: HeadPeer, { callId }: Message): PackageAsker => ({
    node: nodeTagOf(id) as string as NodeId,
    reply: (answer, parts) => connection.reply(callId, answer, parts),
    replyError: (error) => connection.replyError(callId, error),
  });
  const { handlers } = exchange;
  return {
    described: (description) => {
      for (const place of Object.values(foldersOf(description as RuntimeEnvSpec))) exchange.described(place);
    },
    handlers: {
      [MESSAGE.PACKAGE_OFFER]: (wanted, from, message) => handlers[MESSAGE.PACKAGE_OFFER](wanted, askerOf(from, message)),
      [MESSAGE.PACKAGE_READ]: (range, from, message) => handlers[MESSAGE.PACKAGE_READ](range, askerOf(from, message)),
      [MESSAGE.PACKAGE_HELD]: (held, from, message) => handlers[MESSAGE.PACKAGE_HELD](held, askerOf(from, message)),
    },
    jobEnded: (job) => exchange.jobEnded(job),
    forget: (job) => exchange.forget(job),
    nodeGone: (gone) => exchange.nodeGone(nodeTagOf(gone) as string as NodeId),
  };
}

/** Processes of their own, which end with this one. */
class Builders {
  readonly #program: string;
  readonly #running = new Map<Child, Promise<void>>();

  constructor(program: string) {
    this.#program = program;
  }

  run<Result>(configuration: EnvironmentConfiguration): Promise<Result | { failed: string; output: string[] }> {
    const { promise: ended, resolve: onEnded } = Promise.withResolvers<void>();
    return new Promise((resolve) => {
      let result: Result | undefined;
      const lines: string[] = [];
      const child = new Child({
        entry: this.#program,
        execArgv: ["--disable-warning=ExperimentalWarning"],
        configuration,
        onLine: (_stream, line) => lines.push(line),
        onMessage: (line) => {
          result = JSON.parse(line) as Result;
        },
        onExit: () => {
          this.#running.delete(child);
          onEnded();
          resolve(result ?? { failed: "the process that built it ended before it was done", output: lines.slice(-OUTPUT_LINES_MAX) });
        },
      });
      this.#running.set(child, ended);
    });
  }

  async close(): Promise<void> {
    const ended = Array.from(this.#running.values());
    for (const { pid } of this.#running.keys()) {
      try {
        // With its group, as an installer is under it.
        process.kill(-pid, "SIGKILL");
      } catch {
        // The process has ended already.
      }
    }
    await Promise.all(ended);
  }
}
