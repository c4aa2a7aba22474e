/**
 * Decides which checkpoints of a run stay. Pure: takes registrations, and returns the checkpoints to remove.
 *
 * With `numToKeep` the best ones stay, by score or, without one, by age. The newest stays with any score, as a run continues from it; one
 * that is in use stays until it is released. A score that is missing, NaN or no number is the worst.
 */
import type { CheckpointConfig } from "../run-config.ts";
import type { JsonValue, Metrics } from "../metrics/metrics.ts";

/** A checkpoint that is known by its path. */
export interface KeptCheckpoint {
  readonly path: string;
  readonly metrics: Metrics;
}

export type KeptCheckpointsConfig = Pick<CheckpointConfig, "numToKeep" | "checkpointScoreAttribute" | "checkpointScoreOrder">;

export class KeptCheckpoints {
  readonly #config: KeptCheckpointsConfig;
  /** In the order of registration. */
  readonly #kept: KeptCheckpoint[] = [];
  /** Number of readers, by path. */
  readonly #uses = new Map<string, number>();

  constructor(config: KeptCheckpointsConfig = {}) {
    this.#config = config;
  }

  /** In the order of registration. */
  get all(): readonly KeptCheckpoint[] {
    return this.#kept;
  }

  get newest(): KeptCheckpoint | undefined {
    return this.#kept.at(-1);
  }

  /** Best first. Without a score the newest is the best. */
  get best(): KeptCheckpoint[] {
    return this.#ranked().map(({ kept }) => kept);
  }

  /** Adds a complete checkpoint. @returns the checkpoints to remove, which are no longer listed */
  register(checkpoint: KeptCheckpoint): KeptCheckpoint[] {
    const at = this.#kept.findIndex(({ path }) => path === checkpoint.path);
    if (at >= 0) this.#kept.splice(at, 1);
    this.#kept.push(checkpoint);
    return this.#surplus();
  }

  /** Marks a checkpoint as in use: the checkpoint stays until `release` has been called as often as `use`. */
  use(path: string): void {
    this.#uses.set(path, (this.#uses.get(path) ?? 0) + 1);
  }

  /** Ends one use. @returns the checkpoints to remove now */
  release(path: string): KeptCheckpoint[] {
    const uses = (this.#uses.get(path) ?? 0) - 1;
    if (uses > 0) this.#uses.set(path, uses);
    else this.#uses.delete(path);
    return this.#surplus();
  }

  #surplus(): KeptCheckpoint[] {
    const { numToKeep } = this.#config;
    if (numToKeep === undefined) return [];
    const { newest } = this;
    const surplus = this.#ranked()
      .slice(numToKeep)
      .map(({ kept }) => kept)
      .filter((kept) => kept !== newest && !this.#uses.has(kept.path));
    for (const removed of surplus) this.#kept.splice(this.#kept.indexOf(removed), 1);
    return surplus;
  }

  #ranked(): { kept: KeptCheckpoint; score: number; order: number }[] {
    const { checkpointScoreAttribute: attribute, checkpointScoreOrder: order = "max" } = this.#config;
    const scoreOf = ({ metrics }: KeptCheckpoint): number => {
      const value = attribute === undefined ? 0 : metricAt(metrics, attribute);
      if (typeof value !== "number" || Number.isNaN(value)) return Number.NEGATIVE_INFINITY;
      return order === "max" ? value : -value;
    };
    return this.#kept
      .map((kept, i) => ({ kept, score: scoreOf(kept), order: i }))
      .sort((a, b) => (a.score === b.score ? b.order - a.order : b.score - a.score));
  }
}

/** The metric of a name. Nested ones have slashes or dots between the names: `eval/loss`. */
export function metricAt(metrics: Metrics, name: string): JsonValue | undefined {
  if (Object.hasOwn(metrics, name)) return metrics[name];
  let value: JsonValue | undefined = metrics;
  for (const part of name.split(/[/.]/)) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Metrics)[part];
  }
  return value;
}
