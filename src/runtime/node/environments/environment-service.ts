/**
 * The shell around a node's table of runtime environments: asks the head for the meaning of another node's keys, builds environments, starts their workers.
 *
 * Part of the daemon. The entry point brings `JobFolders`, which owns the folders of jobs. This file reports to it the used folders and ended jobs, and passes on
 * other nodes' questions.
 */
import { messageOf } from "../../base/texts/describe.ts";
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
import type { Refusal } from "../leases/demands/lease-obstacles.ts";
import type { Handlers } from "../../wire/tables/message-table.ts";
import type { MessagesBetweenDaemons } from "../../wire/tables/messages-to-daemon.ts";

/** Handlers of the messages by which folders travel. */
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
  /** Removes the built folders of an environment. */
  remove(key: string): void;
  nodeGone(node: NodeId): void;
}

export interface EnvironmentServiceOptions {
  readonly build: ((key: string, description: EnvironmentDescription) => Promise<EnvironmentResult>) | undefined;
  readonly folders: JobFolders | undefined;
  /** Asks for the meaning of a key that no process of this node has described; undefined without other nodes. */
  readonly ask: ((key: string) => Promise<EnvironmentDescription>) | undefined;
  readonly launch: (key: string, settings: LaunchSettings) => void;
  readonly refuse: (key: string, refusal: Refusal) => void;
  /** Called when an environment takes no new work: idle workers end now, others once they are idle. */
  readonly ended: (key: string) => void;
  /** Returns the number of an environment's living workers. */
  readonly workers: (key: string) => number;
}

export class EnvironmentService {
  readonly #options: EnvironmentServiceOptions;
  readonly #table = new EnvironmentTable();
  /** Environments of ended jobs that still have workers. */
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

  /** Returns the step for which an environment's workers wait, for `why`. */
  underWay(key: string): "asked" | "building" | undefined {
    return this.#table.underWay(key);
  }

  /** Returns the descriptions of used environments, for a head that has lost its tables. */
  descriptions(): EnvironmentHeader[] {
    return this.#table.descriptions();
  }

  /** A message about jobs or their folders; false when it is about something else. */
  readonly handlers: Handlers<Pick<MessagesBetweenDaemons, typeof MESSAGE.JOB_ENDED>> = {
    [MESSAGE.JOB_ENDED]: (job) => this.jobEnded(job),
  };

  /** Handlers of other daemons' questions about the folders of this node's jobs. */
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

  /** Handles the end of a driver of this node. @returns the nodes to inform */
  driverGone(job: JobId): NodeId[] {
    this.#end(this.#table.keysOf({ job }));
    return this.#options.folders?.jobEnded(job) ?? [];
  }

  /** A job of another node has ended. */
  jobEnded(job: JobId): void {
    this.#end(this.#table.keysOf({ job }));
    this.#options.folders?.forget(job);
  }

  /** Handles the death of another node and its drivers. */
  nodeGone(node: NodeId): void {
    const keys = this.#table.keysOf({ node });
    for (const job of new Set(keys.map((key) => this.jobOf(key)))) if (job !== undefined) this.jobEnded(job);
    this.#options.folders?.nodeGone(node);
  }

  /** Handles the end of a worker. The last worker of an ended job takes the built folders along. */
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

  /** Returns the job of an environment's workers; undefined if there is only one job. */
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
            (error: unknown) => this.#later({ kind: "buildFailed", key, failure: { reason: messageOf(error), output: [] } }),
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
