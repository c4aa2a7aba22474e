/**
 * Writes the episodes of an algorithm as Parquet files into a folder, through `shoal/data`.
 *
 * Episodes wait in memory until a file is worth it, or until a checkpoint, an evaluation or the end of the algorithm. A file appears whole or not at all, with whole episodes.
 * The files of earlier runs stay.
 */
import { messageOf } from "../../../core/internal.ts";
import { RLError } from "../../errors.ts";
import { OUTPUT_STEPS_PER_FILE } from "../../limits.ts";
import { rowOfEpisode, rowsOfSteps } from "./episode-columns.ts";
import type { RecordedEpisode } from "./episode-recorder.ts";

export class EpisodeFiles {
  readonly #folder: string;
  readonly #writesEpisodes: boolean;
  #waiting: RecordedEpisode[] = [];
  #steps = 0;

  /** @param options.writesEpisodes - one row an episode, else one row a step */
  constructor(folder: string, { writesEpisodes }: { writesEpisodes: boolean }) {
    this.#folder = folder;
    this.#writesEpisodes = writesEpisodes;
  }

  add(episodes: readonly RecordedEpisode[]): void {
    for (const episode of episodes) {
      this.#waiting.push(episode);
      this.#steps += episode.rewards.length;
    }
  }

  /** Writes a file where enough steps wait. */
  async writeFull(): Promise<void> {
    if (this.#steps >= OUTPUT_STEPS_PER_FILE) await this.write();
  }

  /** Writes all episodes that wait. @throws RLError where they cannot be written; they wait on then */
  async write(): Promise<void> {
    const episodes = this.#waiting;
    if (episodes.length === 0) return;
    // Emptied at once: training may add, and write, while an evaluation writes.
    this.#waiting = [];
    this.#steps = 0;
    const rows = this.#writesEpisodes ? episodes.map(rowOfEpisode) : episodes.flatMap((episode) => Array.from(rowsOfSteps(episode)));
    try {
      const { fromItems } = await import("../../../data/index.ts");
      // No CPU: runners may hold all of them, and would wait for this.
      await fromItems(rows).writeParquet(this.#folder, { numCpus: 0 });
    } catch (cause) {
      this.add(episodes);
      throw new RLError(`Cannot write the episodes to ${this.#folder}: ${messageOf(cause)}`, { cause });
    }
  }
}
