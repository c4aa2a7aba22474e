/**
 * The runtime environments of a node, around their table: asks the head what a key means that came from another node, has environments built, starts their workers.
 *
 * Part of the daemon. The folders of jobs are `JobFolders`' matter, which the entry point brings: this tells it which are used here, passes on what other nodes
 * ask of it, and says when a job has ended.
 */
import type { JobId, NodeId } from "../../base/ids.ts";
import type { HeadPeer } from "../../rpc/head-service.ts";
import type { Message } from "../../rpc/peer-connection.ts";
import { type EnvironmentHeader, MESSAGE } from "../../wire/messages.ts";
import {
  type EnvironmentDescription,
  type EnvironmentEvent,
  environmentRefusal,
  type EnvironmentResult,
  EnvironmentTable,
  type LaunchSettings,
} from "./environment-table.ts";
import type { Refusal } from "../leases/lease-obstacles.ts";
import type { Handlers } from "../../wire/message-table.ts";
import type { MessagesBetweenDaemons } from "../../wire/messages-to-daemon.ts";

/** Of messages by which folders travel. */
export type FolderHandlers = Handlers<
  Pick<MessagesBetweenDaemons, typeof MESSAGE.PACKAGE_OFFER | typeof MESSAGE.PACKAGE_READ | typeof MESSAGE.PACKAGE_HELD>,
  [from: HeadPeer, message: Message]
>;

/** How the folders of jobs come here and go to other nodes. */
export interface JobFolders {
  /** A process of this node has described it. */
  described(description: EnvironmentDescription): void;
  /** For other nodes' daemons. */
  readonly handlers: FolderHandlers;
  /** The driver of a job of this node has gone; returns the nodes that have its folders. */
  jobEnded(job: JobId): NodeId[];
  /** A job of another node has ended. */
  forget(job: JobId): void;
  /** What was built for an environment is to go. */
  remove(key: string): void;
  nodeGone(node: NodeId): void;
}

export interface EnvironmentServiceOptions {
  readonly build: ((key: string, description: EnvironmentDescription) => Promise<EnvironmentResult>) | undefined;
  readonly folders: JobFolders | undefined;
  /** What a key means that no process of this node has described; undefined where there are no other nodes. */
  readonly ask: ((key: string) => Promise<EnvironmentDescription>) | undefined;
  readonly launch: (key: string, settings: LaunchSettings) => void;
  readonly refuse: (key: string, refusal: Refusal) => void;
  /** No new work of it begins: its idle workers end, the others when they are idle. */
  readonly ended: (key: string) => void;
  /** How many of its workers live. */
  readonly workers: (key: string) => number;
}

export class EnvironmentService {
  readonly #options: EnvironmentServiceOptions;
  readonly #table = new EnvironmentTable();
  /** Of jobs that have ended, those whose workers have not. */
  readonly #ending = new Set<string>();
  #isClosed = false;

  constructor(options: EnvironmentServiceOptions) {
    this.#options = options;
  }

  /** A process of this node says what a key means. */
  described({ key, description }: EnvironmentHeader): void {
    this.#options.folders?.described(description);
    this.#handle({ kind: "described", key, description });
  }

  /** What its workers wait for, for `why`. */
  underWay(key: string): "asked" | "building" | undefined {
    return this.#table.underWay(key);
  }

  /** What it knows of environments that are in use, for a head that has lost its tables. */
  descriptions(): EnvironmentHeader[] {
    return this.#table.descriptions();
  }

  /** A message about jobs or their folders; false when it is about something else. */
  readonly handlers: Handlers<Pick<MessagesBetweenDaemons, typeof MESSAGE.JOB_ENDED>> = {
    [MESSAGE.JOB_ENDED]: (job) => this.jobEnded(job),
  };

  /** What other nodes' daemons ask of the folders of this one's jobs. */
  get folderHandlers(): Partial<FolderHandlers> {
    return this.#options.folders?.handlers ?? {};
  }

  workerWanted(key: string): void {
    this.#handle({ kind: "workerWanted", key });
  }

  workerStarted(key: string): void {
    this.#handle({ kind: "workerStarted", key });
  }

  workerStartFailed(key: string, output: readonly string[]): void {
    this.#handle({ kind: "workerStartFailed", key, output: output.slice() });
  }

  /** The driver of a job of this node has gone; returns the nodes that are to hear of it. */
  driverGone(job: JobId): NodeId[] {
    this.#end(this.#table.keysOf({ job }));
    return this.#options.folders?.jobEnded(job) ?? [];
  }

  /** A job of another node has ended. */
  jobEnded(job: JobId): void {
    this.#end(this.#table.keysOf({ job }));
    this.#options.folders?.forget(job);
  }

  /** Another node is dead, and with it the drivers on it. */
  nodeGone(node: NodeId): void {
    const keys = this.#table.keysOf({ node });
    for (const job of new Set(keys.map((key) => this.jobOf(key)))) if (job !== undefined) this.jobEnded(job);
    this.#options.folders?.nodeGone(node);
  }

  /** A worker has ended: what was built for a job that has ended goes with its last one. */
  workerExited(key: string): void {
    if (this.#ending.has(key)) this.#removeUnused(key);
  }

  #end(keys: readonly string[]): void {
    for (const key of keys) {
      this.#ending.add(key);
      this.#options.ended(key);
      this.#removeUnused(key);
    }
  }

  /** A detached actor goes on: its environment stays, for its restarts. */
  #removeUnused(key: string): void {
    if (this.#options.workers(key) > 0) return;
    this.#ending.delete(key);
    this.#table.forget(key);
    this.#options.folders?.remove(key);
  }

  /** Whose workers those of an environment are; undefined where there is one job. */
  jobOf(key: string): JobId | undefined {
    return this.#table.describe(key)?.job?.jobId;
  }

  close(): void {
    this.#isClosed = true;
  }

  #handle(event: EnvironmentEvent): void {
    const { ask, build, launch, refuse } = this.#options;
    for (const effect of this.#table.handle(event)) {
      const { key } = effect;
      switch (effect.kind) {
        case "ask":
          (ask === undefined ? Promise.reject(new Error("nobody has described it to this node")) : ask(key)).then(
            (description) => this.#later({ kind: "described", key, description }),
            (error: unknown) => this.#later({ kind: "buildFailed", key, failure: { reason: (error as Error).message, output: [] } }),
          );
          break;
        case "build":
          void build?.(key, effect.description).then((result) => {
            if (this.#table.describe(key) === undefined) this.#endedMeanwhile(key);
            else if ("built" in result) this.#later({ kind: "built", key, settings: result.built });
            else this.#later({ kind: "buildFailed", key, failure: { reason: result.failed, output: result.output } });
          });
          break;
        case "launch":
          launch(key, effect.settings);
          break;
        case "failed":
          refuse(key, environmentRefusal(effect.failure));
          break;
      }
    }
  }

  #endedMeanwhile(key: string): void {
    if (this.#isClosed) return;
    this.#options.folders?.remove(key);
    this.#options.refuse(key, environmentRefusal({ reason: "its job has ended", output: [] }));
  }

  #later(event: EnvironmentEvent): void {
    if (!this.#isClosed) this.#handle(event);
  }
}
