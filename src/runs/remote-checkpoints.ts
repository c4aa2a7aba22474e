/**
 * What Python asks TypeScript to do with checkpoints that lie elsewhere (`python/shoal/_checkpoint.py`): it calls these by their names, in a worker on its own node.
 *
 * So storages, their credentials and their failures are known in one language.
 */
import { Checkpoint } from "./checkpoint.ts";
import { type Metrics, parseMetrics } from "./metrics.ts";

/** Copies a checkpoint into a folder of this machine. */
export async function fetchCheckpoint(path: string, folder: string): Promise<void> {
  await new Checkpoint(path).toDirectory(folder);
}

export async function checkpointMetadata(path: string): Promise<Metrics> {
  return await new Checkpoint(path).getMetadata();
}

/** @param text - JSON, as Python writes it */
export async function setCheckpointMetadata(path: string, text: string): Promise<void> {
  await new Checkpoint(path).setMetadata(parseMetrics(text) as Metrics);
}
