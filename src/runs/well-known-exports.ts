/** Everything of `runs` that travels by name. */
import { registerExports } from "../core/internal.ts";
import { Checkpoint, receivedCheckpoint } from "./checkpoints/checkpoint.ts";
import { completeCheckpoint, persistCheckpoint } from "./checkpoints/stored-checkpoints.ts";
import { RunError } from "./errors.ts";
import {
  checkpointMetadata,
  closeCheckpoint,
  fetchCheckpoint,
  openCheckpoint,
  setCheckpointMetadata,
} from "./checkpoints/remote-checkpoints.ts";
import { Result } from "./result.ts";

registerExports("shoal/runs", {
  Checkpoint,
  checkpointMetadata,
  closeCheckpoint,
  completeCheckpoint,
  fetchCheckpoint,
  openCheckpoint,
  persistCheckpoint,
  receivedCheckpoint,
  Result,
  RunError,
  setCheckpointMetadata,
});
