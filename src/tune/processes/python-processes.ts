/**
 * Trials of a function or a class of Python: actors of `python/shoal/tune/_trial.py`, which speak the same protocol as those of TypeScript.
 *
 * A checkpoint that Python reports is a folder on the actor's node. A task of TypeScript on that node copies it to its staging place, with
 * the code and the credentials for the run's storage.
 */
import { type ActorHandle, type ActorOptions, remote } from "../../core/index.ts";
import type { PythonCode } from "../../core/internal.ts";
import { checkpointName, persistCheckpoint } from "../../runs/checkpoints/stored-checkpoints.ts";
import { python } from "../../python/python.ts";
import { joinPath } from "../../storage/paths.ts";
import type { TrialActor } from "./trial-actor.ts";
import { ActorProcesses, type PoolOptions } from "./trial-processes.ts";
import type { ProcessAnswer, ProcessEvent, TrialSpec } from "./trial-protocol.ts";

/** The events of Python: a checkpoint is the path of a folder of a node. */
type PythonEvent = ProcessEvent & { readonly local?: string; readonly nodeId?: string };

interface PythonTrialActor {
  begin(spec: TrialSpec): PythonEvent;
  next(answer: ProcessAnswer): PythonEvent;
  cleanUp(): string | null;
}

export function pythonProcesses({ kind, place, name, options }: PythonCode, { isReusing, onProblem }: PoolOptions): ActorProcesses {
  const { numReturns: _, ...given } = options as ActorOptions & { numReturns?: unknown };
  const actorClass = python.actor<PythonTrialActor, [place: string, name: string, kind: string]>("shoal.tune._trial", "TrialActor", {
    maxConcurrency: 4,
  });
  const persist = remote(persistCheckpoint, { numCpus: 0 });
  return new ActorProcesses({
    isReusing,
    onProblem,
    hasInstances: kind === "class",
    make: (amounts) =>
      actorClass.options({ ...sharedOptions(given), ...amounts }).remote(place, name, kind) as unknown as ActorHandle<TrialActor>,
    staging: async (event, spec, index) => {
      const { local, nodeId, ...rest } = event as Extract<PythonEvent, { type: "report" }>;
      if (local === undefined || nodeId === undefined) return event;
      const to = joinPath(spec.trialDir, checkpointName(index));
      return { ...rest, checkpoint: { to, part: await persist.options({ schedulingStrategy: { nodeId } }).remote({ from: local, to }) } };
    },
  });
}

/** Options of `python.task` that an actor has, too; those of single calls are not among them. */
function sharedOptions({ runtimeEnv, labelSelector }: ActorOptions): Pick<ActorOptions, "runtimeEnv" | "labelSelector"> {
  return { ...(runtimeEnv && { runtimeEnv }), ...(labelSelector && { labelSelector }) };
}
