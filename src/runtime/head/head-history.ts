/**
 * Writes the head's part of a history: the last row of each actor and placement group.
 *
 * The head names the actors and groups that have changed. Rows are made twice a second, so a burst of changes is one row. A new segment
 * repeats the rows of all that live. The rows of a cluster that is stopped end with it.
 */
import { HistoryRecorder, type HistorySink } from "../observe/history-recorder.ts";
import type { KeyedRow } from "../observe/select-rows.ts";

const WRITTEN_WITHIN_MS = 500;
const STOPPED = "The cluster was stopped.";

/** Resources whose rows the head has. */
type HeadResource = "actors" | "placement_groups";
/** Returns the row as it is now. */
type ReadRow = () => KeyedRow;

interface Observed {
  readonly resource: HeadResource;
  readonly read: ReadRow;
}

const DEAD: Readonly<Record<HeadResource, string>> = { actors: "DEAD", placement_groups: "REMOVED" };

export class HeadHistory {
  readonly #recorder: HistoryRecorder;
  #changed = new Map<string, Observed>();
  readonly #living = new Map<string, Observed>();
  #timer: NodeJS.Timeout | undefined;

  constructor(sink: HistorySink) {
    this.#recorder = new HistoryRecorder(sink);
  }

  changed(resource: HeadResource, id: string, read: ReadRow): void {
    this.#changed.set(`${resource} ${id}`, { resource, read });
    this.#timer ??= setTimeout(() => this.flush(), WRITTEN_WITHIN_MS).unref();
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const changed = this.#changed;
    this.#changed = new Map();
    for (const [name, observed] of changed) {
      const isLive = observed.read().row["state"] !== DEAD[observed.resource];
      if (isLive) this.#living.set(name, observed);
      else this.#living.delete(name);
      this.#row(observed.resource, observed.read, isLive);
    }
    this.#recorder.flush();
  }

  /** Resolves when all rows are in files. @param endsCluster whether all that lives ends with this head */
  async close(endsCluster: boolean): Promise<void> {
    this.flush();
    if (endsCluster) for (const { resource, read } of this.#living.values()) this.#row(resource, () => stopped(resource, read()), false);
    this.#living.clear();
    await this.#recorder.close();
  }

  #row(resource: HeadResource, read: ReadRow, isLive: boolean): void {
    const { key } = read();
    this.#recorder.row(resource, key[1], { timeMs: Number(key[0]), isLive, make: () => read().row });
  }
}

function stopped(resource: HeadResource, { key, row }: KeyedRow): KeyedRow {
  const cause = resource === "actors" ? { death_cause: { reason: STOPPED, signal: null, exit_code: null, last_lines: [] } } : {};
  return { key, row: { ...row, ...cause, state: DEAD[resource] } };
}
