/**
 * The actor that runs a loop in TypeScript: one process of a training group.
 *
 * The actor's methods are those of `RankSession` in `python/shoal/train/_session.py`, called by `worker-group.ts` in one order: start,
 * prepare, begin, then `nextEvent` again and again. Calls overlap (`maxConcurrency`), so it answers while its loop awaits.
 */
import { getRuntimeContext, nodes } from "../../core/index.ts";
import { isWorker } from "../../core/internal.ts";
import type { DataIterator } from "../../data/index.ts";
import type { Checkpoint } from "../../runs/checkpoints/checkpoint.ts";
import type { BestCheckpoint } from "../../runs/result.ts";
import { hostOf } from "../../runs/node-address.ts";
import { makeFolder } from "../../storage/places.ts";
import type { RankContext, RankDecision, RankEvent, RankFacts, RankNotice } from "./rank-protocol.ts";
import { closeSession, openSession, RankSession, TrainingStopped } from "./rank-session.ts";

/** A loop as its users write it. */
// oxlint-disable-next-line no-explicit-any -- what the configuration of a loop is, is the user's to say
export type TrainLoop = (config: any) => unknown;

export class RankActor {
  #session: RankSession | undefined;

  async start(): Promise<RankFacts> {
    const { nodeId, acceleratorIds } = getRuntimeContext();
    const own = (await nodes()).find((node) => node.nodeId === nodeId);
    return {
      pid: process.pid,
      hostname: own?.hostname ?? "",
      nodeId,
      ip: hostOf(own?.address ?? "") ?? "127.0.0.1",
      gpuIds: acceleratorIds["GPU"] ?? [],
      port: 0,
    };
  }

  prepare({ env, context }: { env: Readonly<Record<string, string>>; context: RankContext }): void {
    // In in-process mode all ranks share one environment.
    if (isWorker()) Object.assign(process.env, env);
    this.#session = new RankSession(context);
    openSession(this.#session);
  }

  /** Runs the loop. The answer comes at its end, so that the whole loop belongs to this call; `nextEvent` returns its events. */
  async begin(request: {
    loop: TrainLoop;
    config: unknown;
    checkpoint: Checkpoint | null;
    reported: readonly BestCheckpoint[];
    datasets: Readonly<Record<string, DataIterator>>;
    folder: string | null;
  }): Promise<void> {
    const session = this.#ready();
    session.checkpoint = request.checkpoint ?? undefined;
    session.reported.push(...request.reported);
    session.datasets = request.datasets;
    let last: RankEvent;
    try {
      await this.#workIn(request.folder);
      const value = await request.loop(request.config);
      last = { type: "finished", value, operations: session.operations };
    } catch (thrown) {
      const cause = session.isOfCommunication(thrown) ? "communication" : "user";
      const error = thrown instanceof Error ? thrown : new Error(`the loop threw ${String(thrown)}`, { cause: thrown });
      last = thrown instanceof TrainingStopped ? { type: "stopped", operations: session.operations } : { type: "failed", error, cause };
    }
    session.send(last);
  }

  /** In in-process mode all ranks share one folder. */
  async #workIn(folder: string | null): Promise<void> {
    if (folder === null || !isWorker()) return;
    await makeFolder(folder);
    process.chdir(folder);
  }

  async nextEvent(decision: RankDecision<Checkpoint> | null): Promise<RankEvent> {
    return this.#ready().nextEvent(decision ?? undefined);
  }

  /** Calls a function of a backend. */
  async execute({ fn, args }: { fn: (...args: readonly unknown[]) => unknown; args: readonly unknown[] }): Promise<unknown> {
    return await fn(...args);
  }

  notify(notice: RankNotice<Checkpoint>): void {
    this.#session?.notify(notice);
  }

  /** Answered while the loop awaits. A rank of Python tells where its loop stands, too. */
  ping(): string {
    return "";
  }

  async tearDown(): Promise<void> {
    await this.#session?.close();
    closeSession();
  }

  #ready(): RankSession {
    if (this.#session === undefined) throw new TypeError("the rank was not prepared");
    return this.#session;
  }
}
