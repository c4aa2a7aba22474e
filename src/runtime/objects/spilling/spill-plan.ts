/**
 * Decides when and which objects move from shared memory to disk: garbage first, then the oldest arenas, until enough of the quota is free.
 *
 * A pure state machine over the store's ledger: events in, effects out, no clock and no file; `runtime/node/objects/spilling.ts` is its shell. The steps
 * follow each other: all processes collect garbage, the writers of the oldest arenas stop writing to them, and the living objects are copied. No step waits
 * longer than a moment for a process: an arena whose writer computes is left for later.
 */
import type { ProcessId } from "../../base/ids.ts";
import { SPILL_ABOVE, SPILL_DOWN_TO } from "../limits.ts";
import type { SpillPiece } from "./spill-files.ts";
import type { StoreLedger } from "../store/store-ledger.ts";

export type SpillEvent =
  | { kind: "changed"; processes: readonly ProcessId[]; nowMs: number }
  | { kind: "collected"; process: ProcessId }
  | { kind: "retired"; process: ProcessId; arenas: readonly string[] }
  | { kind: "processGone"; process: ProcessId }
  | { kind: "timeout" }
  | { kind: "written"; ok: boolean; nowMs: number };

export type SpillEffect =
  | { kind: "collect" }
  | { kind: "retire"; writer: ProcessId; arenas: string[] }
  /** A `timeout` is due after this time, unless another effect of this kind replaces it. */
  | { kind: "timer"; afterMs: number }
  | { kind: "write"; pieces: SpillPiece[] };

type SpillState = "idle" | "collecting" | "retiring" | "writing";

/** A fused file; large enough that making and deleting it costs nothing against writing it. Ray's batch as well. */
const BATCH_BYTES = 100 * 1024 * 1024;
/** A process that computes neither collects nor answers; a collection takes some 30 ms. */
const ANSWERED_WITHIN_MS = 100;
/** After a disk was full or failed: somebody may make room, and puts find their own way meanwhile. */
const FAILED_PAUSE_MS = 5000;
/** Copying a quarter gives back three: below that a file is left as it is. */
const COMPACT = { liveFraction: 0.25, minBytes: 16 * 1024 * 1024 };

export class SpillPlan {
  readonly #ledger: StoreLedger;
  #state: SpillState = "idle";
  #waitingFor = new Set<ProcessId>();
  /** Arenas whose writers have been asked and have not answered. */
  readonly #asked = new Set<string>();
  #chosen: string[] = [];
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  #nowMs = 0;
  /** Above the upper mark once, until the lower one is reached. */
  #isSpilling = false;

  constructor(options: { ledger: StoreLedger }) {
    this.#ledger = options.ledger;
  }

  handle(event: SpillEvent): SpillEffect[] {
    switch (event.kind) {
      case "changed":
        this.#nowMs = event.nowMs;
        return this.#state === "idle" ? this.#begin(event.processes) : [];
      case "collected":
        return this.#answered("collecting", event.process);
      case "retired":
        for (const arena of event.arenas) this.#asked.delete(arena);
        return this.#answered("retiring", event.process);
      case "processGone":
        return this.#answered(this.#state, event.process);
      case "timeout":
        return this.#state === "collecting" || this.#state === "retiring" ? this.#goOn() : [];
      case "written":
        this.#nowMs = event.nowMs;
        this.#state = "idle";
        if (!event.ok) this.#pausedUntilMs = event.nowMs + FAILED_PAUSE_MS;
        return this.#choose();
    }
  }

  #begin(processes: readonly ProcessId[]): SpillEffect[] {
    if (this.#ledger.takeCollectRequest() && processes.length > 0) {
      this.#state = "collecting";
      this.#waitingFor = new Set(processes);
      return [{ kind: "collect" }, { kind: "timer", afterMs: ANSWERED_WITHIN_MS }];
    }
    return this.#choose();
  }

  #answered(state: SpillState, process: ProcessId): SpillEffect[] {
    if (this.#state !== state || !this.#waitingFor.delete(process) || this.#waitingFor.size > 0) return [];
    return this.#goOn();
  }

  #goOn(): SpillEffect[] {
    const wasRetiring = this.#state === "retiring";
    this.#state = "idle";
    this.#waitingFor.clear();
    return wasRetiring ? this.#write(this.#chosen) : this.#choose();
  }

  #choose(): SpillEffect[] {
    const { usedBytes, quotaBytes } = this.#ledger;
    if (usedBytes > quotaBytes * SPILL_ABOVE) this.#isSpilling = true;
    if (usedBytes <= quotaBytes * SPILL_DOWN_TO) this.#isSpilling = false;
    if (this.#nowMs < this.#pausedUntilMs) return [];
    if (!this.#isSpilling) return this.#compact();
    const wantedBytes = Math.min(usedBytes - quotaBytes * SPILL_DOWN_TO, BATCH_BYTES);
    const candidates = this.#ledger.spillCandidates(wantedBytes, (arena) => this.#asked.has(arena));
    if (candidates.length === 0) return [];
    this.#chosen = candidates.map(({ arena }) => arena);
    const byWriter = new Map<ProcessId, string[]>();
    for (const { arena, writer } of candidates) {
      if (writer === undefined) continue;
      byWriter.set(writer, [...(byWriter.get(writer) ?? []), arena]);
      this.#asked.add(arena);
    }
    if (byWriter.size === 0) return this.#write(this.#chosen);
    this.#state = "retiring";
    this.#waitingFor = new Set(byWriter.keys());
    const effects = Array.from(byWriter, ([writer, arenas]): SpillEffect => ({ kind: "retire", writer, arenas }));
    return [...effects, { kind: "timer", afterMs: ANSWERED_WITHIN_MS }];
  }

  #write(arenas: readonly string[]): SpillEffect[] {
    const pieces = arenas.flatMap((arena) => this.#ledger.retiredObjects(arena) ?? []);
    // Arenas whose writers did not answer are asked for again at the next change, if they are still wanted.
    if (pieces.length === 0) return [];
    this.#state = "writing";
    return [{ kind: "write", pieces }];
  }

  #compact(): SpillEffect[] {
    const pieces = this.#ledger.scatteredObjects(COMPACT);
    if (pieces === undefined || pieces.length === 0) return [];
    this.#state = "writing";
    return [{ kind: "write", pieces }];
  }
}
