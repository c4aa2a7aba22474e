/** The processes for a trainable: actors of TypeScript or of Python, or none, where a trainer runs in the driver and starts its own. */
import { pythonProcesses } from "./python-processes.ts";
import type { TrainableParts } from "../trainable.ts";
import { TrainerProcesses } from "./trainer-processes.ts";
import { type PoolOptions, type TrialProcesses, typescriptProcesses } from "./trial-processes.ts";

export function makeProcesses(trainable: TrainableParts, options: PoolOptions): TrialProcesses {
  const { body } = trainable;
  if (body.kind === "definition") return new TrainerProcesses(body.definition);
  if (body.kind === "python") return pythonProcesses(body.code, options);
  return typescriptProcesses(trainable, options);
}
