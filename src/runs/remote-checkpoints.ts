/**
 * Operations on remote checkpoints for Python (`python/shoal/_checkpoint.py`), which calls these functions by name, in a worker on its own node.
 *
 * So only one language implements storages, their credentials and their failures.
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
