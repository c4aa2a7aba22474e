/**
 * Spilling in the node daemon: the shell around the plan (runtime/objects/spilling/spill-plan.ts), which decides.
 *
 * Turns effects into messages, timers and files, and their outcomes into events. Owns the counts of spilled and restored bytes. A failed write changes nothing: objects
 * stay in place, and writers put new objects on disk themselves until spilling works again.
 */
import { messageOf } from "../../base/texts/describe.ts";
import type { ProcessId } from "../../base/ids.ts";
import type { SpillDisk } from "../../objects/spilling/spill-disk.ts";
import type { SpillPiece } from "../../objects/spilling/spill-files.ts";
import { type SpillEffect, type SpillEvent, SpillPlan } from "../../objects/spilling/spill-plan.ts";
import type { ArenaFile, FreedEffects, StoreLedger } from "../../objects/store/store-ledger.ts";
import { MESSAGE } from "../../wire/messages.ts";

interface SpillingOptions {
  ledger: StoreLedger;
  disk: SpillDisk;
  processes: () => ProcessId[];
  send: (to: ProcessId, type: number, header: unknown) => void;
  unlink: (files: readonly ArenaFile[]) => void;
  /** Said to the drivers, once for each time that it begins to fail. */
  warn: (text: string) => void;
  /** The store has room again. */
  onSpilled: () => void;
  nowMs: () => number;
}

interface SpillStatistics {
  spilledBytes: number;
  spilledObjects: number;
  restoredBytes: number;
  restoredObjects: number;
  spillFiles: number;
  spillFileBytes: number;
}

export class Spilling {
  readonly #options: SpillingOptions;
  readonly #plan: SpillPlan;
  readonly #counters = { spilledBytes: 0, spilledObjects: 0, restoredBytes: 0, restoredObjects: 0 };
  #timer: NodeJS.Timeout | undefined;
  #isFailing = false;
  #isClosed = false;

  constructor(options: SpillingOptions) {
    this.#options = options;
    this.#plan = new SpillPlan({ ledger: options.ledger });
  }

  get statistics(): SpillStatistics {
    const { files, fileBytes } = this.#options.ledger.spillFiles;
    return { ...this.#counters, spillFiles: files, spillFileBytes: fileBytes };
  }

  /** Something was stored, freed, or is no longer mapped. */
  changed(): void {
    this.#handle({ kind: "changed", processes: this.#options.processes(), nowMs: this.#options.nowMs() });
  }

  collected(process: ProcessId): void {
    this.#handle({ kind: "collected", process });
  }

  retired(process: ProcessId, arenas: readonly string[]): FreedEffects[] {
    const effects = arenas.map((arena) => this.#options.ledger.retired(process, arena));
    this.#handle({ kind: "retired", process, arenas });
    return effects;
  }

  /** A process read objects that had been spilled. */
  restored(objects: number, bytes: number): void {
    this.#counters.restoredObjects += objects;
    this.#counters.restoredBytes += bytes;
  }

  processGone(process: ProcessId): void {
    this.#handle({ kind: "processGone", process });
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #handle(event: SpillEvent): void {
    if (this.#isClosed) return;
    for (const effect of this.#plan.handle(event)) this.#apply(effect);
  }

  #apply(effect: SpillEffect): void {
    switch (effect.kind) {
      case "collect":
        for (const process of this.#options.processes()) this.#options.send(process, MESSAGE.STORE_COLLECT, undefined);
        return;
      case "retire":
        this.#options.send(effect.writer, MESSAGE.STORE_RETIRE, effect.arenas);
        return;
      case "timer":
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#handle({ kind: "timeout" }), effect.afterMs);
        this.#timer.unref();
        return;
      case "write":
        clearTimeout(this.#timer);
        void this.#write(effect.pieces);
        return;
    }
  }

  async #write(pieces: readonly SpillPiece[]): Promise<void> {
    const { nowMs, warn, onSpilled } = this.#options;
    try {
      const written = await this.#options.disk.writeBatch(pieces);
      if (this.#isClosed) return;
      this.#commit(pieces, written);
      this.#isFailing = false;
    } catch (error) {
      if (this.#isClosed) return;
      if (!this.#isFailing) warn(`Objects cannot be spilled: ${messageOf(error)}. They stay in shared memory until it works again.`);
      this.#isFailing = true;
      this.#handle({ kind: "written", ok: false, nowMs: nowMs() });
      return;
    }
    onSpilled();
    this.#handle({ kind: "written", ok: true, nowMs: nowMs() });
  }

  /** In this order: readers find an object in its arena or by the index at every moment. */
  #commit(pieces: readonly SpillPiece[], written: Awaited<ReturnType<SpillDisk["writeBatch"]>>): void {
    const { ledger, disk, unlink, processes, send } = this.#options;
    const files = ledger.spilled(written);
    const arenas = new Set(pieces.map((piece) => piece.arena));
    for (const arena of arenas) {
      const index = ledger.indexOf(arena);
      if (index.length > 0) disk.writeIndex(arena, index);
    }
    unlink(files);
    for (const process of processes()) send(process, MESSAGE.STORE_SPILLED, Array.from(arenas));
    for (const { source, sizeBytes } of pieces) {
      if (source.kind !== "memory") continue;
      this.#counters.spilledObjects += 1;
      this.#counters.spilledBytes += sizeBytes;
    }
  }
}
