/**
 * Operations on remote checkpoints for Python (`python/shoal/_checkpoint.py`), which calls these functions by name, in a worker on its own node.
 *
 * So only one language implements storages, their credentials and their failures.
 */
import { closeSharedCopy, type SharedCopy } from "../../storage/local/shared-copy.ts";
import { Checkpoint, openedCopy } from "./checkpoint.ts";
import { type Metrics, parseMetrics } from "../metrics/metrics.ts";

/** Copies a checkpoint into a folder of this machine. */
export async function fetchCheckpoint(path: string, folder: string): Promise<void> {
  await new Checkpoint(path).toDirectory(folder);
}

/** Opens a checkpoint's copy on this machine for a process of Python. */
export async function openCheckpoint(path: string, pid: number): Promise<SharedCopy> {
  return await openedCopy(new Checkpoint(path), pid);
}

export async function closeCheckpoint(copy: SharedCopy): Promise<void> {
  await closeSharedCopy(copy);
}

export async function checkpointMetadata(path: string): Promise<Metrics> {
  return await new Checkpoint(path).getMetadata();
}

/** @param text - JSON, as Python writes it */
export async function setCheckpointMetadata(path: string, text: string): Promise<void> {
  await new Checkpoint(path).setMetadata(parseMetrics(text) as Metrics);
}
