/**
 * The buffer of an algorithm in its checkpoint: a file in `buffer` for each module, with counters as its metadata.
 *
 * A buffer of another save is refused, as all files of a checkpoint are.
 */
import { Checkpoint } from "../../runs/checkpoints/checkpoint.ts";
import { writeWhole } from "../../storage/listing/folders.ts";
import { joinPath } from "../../storage/paths.ts";
import { makeFolder } from "../../storage/places.ts";
import { readWhole } from "../../storage/read-file.ts";
import { RLError } from "../errors.ts";
import type { EpisodeReplayState } from "../replay/episode-replay.ts";
import { readSafetensors, writeSafetensors } from "./safetensors.ts";

const NAMES = ["obs", "actions", "rewards", "next", "kinds", "priorities"] as const;

/** The save and the module that a buffer belongs to. */
interface BufferOf {
  readonly save: string;
  readonly moduleId: string;
}

export async function writeBuffer(path: string, { save, moduleId }: BufferOf, { arrays, ...counters }: EpisodeReplayState): Promise<void> {
  const folder = joinPath(new Checkpoint(path).path, "buffer");
  await makeFolder(folder);
  const named = new Map(NAMES.map((name) => [name, { shape: [arrays[name].length], data: arrays[name] }]));
  const bytes = writeSafetensors({ arrays: named, metadata: { save, counters: JSON.stringify(counters) } });
  await writeWhole(joinPath(folder, `${moduleId}.safetensors`), bytes);
}

/** @throws RLError where the buffer is damaged, or of another save */
export async function readBuffer(path: string, { save, moduleId }: BufferOf): Promise<EpisodeReplayState> {
  const file = joinPath(new Checkpoint(path).path, "buffer", `${moduleId}.safetensors`);
  const { arrays, metadata } = readSafetensors(await readWhole(file), file);
  const missing = NAMES.find((name) => !arrays.has(name));
  if (metadata["save"] !== save || missing !== undefined)
    throw new RLError(
      missing === undefined
        ? `Cannot read a checkpoint: ${file} belongs to another save than algorithm.json: a save over it was cut off. Use another checkpoint`
        : `Cannot read ${file}: it has no ${missing}: the file is damaged`,
    );
  const columns = Object.fromEntries(NAMES.map((name) => [name, arrays.get(name)?.data])) as unknown as EpisodeReplayState["arrays"];
  return { arrays: columns, ...(JSON.parse(metadata["counters"] ?? "{}") as Omit<EpisodeReplayState, "arrays">) };
}
