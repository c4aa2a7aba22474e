/**
 * Checkpoints of algorithms: a folder with JSON and safetensors, in which nothing is executed.
 *
 * `algorithm.json` is written last and names the save that all files belong to, so that a folder with files of two saves, or with missing files, is refused.
 * A folder of a later version is refused by name.
 */
import { describeValue, isPlainObject } from "../../core/internal.ts";
import { Checkpoint } from "../../runs/checkpoint.ts";
import { writeWhole } from "../../storage/folders.ts";
import { joinPath } from "../../storage/paths.ts";
import { makeFolder } from "../../storage/places.ts";
import { readTextIfThere, readWhole } from "../../storage/read-file.ts";
import type { SavedConnector } from "../connectors/connector.ts";
import { RLError } from "../errors.ts";
import type { LearnerState } from "../learners/learner.ts";
import type { RLModule } from "../modules/rl-module.ts";
import type { RunnerState } from "../runners/env-runner.ts";
import type { SpaceJson } from "../spaces/space.ts";
import { type NamedArrays, readSafetensors, writeSafetensors } from "./safetensors.ts";
import { setWeights, weightsOf } from "./module-weights.ts";

const FORMAT_VERSION = 1;
const ALGORITHM = "algorithm.json";
const ENVIRONMENTS = "environments.json";

/** Counters and the last episodes. */
interface Progress {
  readonly trainingIteration: number;
  readonly timeTotalMs: number;
  readonly envSteps: number;
  readonly episodes: number;
  readonly returns: readonly number[];
  readonly lengths: readonly number[];
}

/** The contents of `algorithm.json`. */
export interface AlgorithmFile {
  readonly format: "shoal-rl";
  readonly formatVersion: number;
  readonly algorithm: string;
  /** Names the save; the other files have the same. */
  readonly save: string;
  readonly seed: number;
  readonly config: { readonly env: string; readonly given: Readonly<Record<string, object>>; readonly code: readonly string[] };
  readonly spaces: { readonly observation: SpaceJson; readonly action: SpaceJson };
  /** Between the observations and the module. */
  readonly connectors?: readonly SavedConnector[];
  readonly progress: Progress;
  readonly learner: LearnerState["data"];
  /** Numbers of the training step. */
  readonly training?: object;
}

interface SavedAlgorithm {
  readonly file: Omit<AlgorithmFile, "format" | "formatVersion" | "save" | "learner">;
  readonly moduleId: string;
  readonly module: RLModule;
  readonly learner: LearnerState;
  readonly runners: readonly (RunnerState | undefined)[];
  /** Writes further files of the algorithm. */
  saveFiles(path: string, save: string): Promise<void>;
}

export async function writeCheckpoint(path: string, given: SavedAlgorithm): Promise<Checkpoint> {
  const { file, moduleId, module, learner, runners } = given;
  const checkpoint = new Checkpoint(path);
  const save = crypto.randomUUID();
  const folder = joinPath(checkpoint.path, "modules", moduleId);
  await makeFolder(folder);
  const arrays = new Map(Object.entries(learner.arrays).map(([name, data]) => [name, { shape: [data.length], data }]));
  const metadata = { save };
  await writeWhole(joinPath(folder, "weights.safetensors"), writeSafetensors({ arrays: weightsOf(module), metadata }));
  await writeWhole(joinPath(folder, "optimizer.safetensors"), writeSafetensors({ arrays, metadata }));
  await writeWhole(joinPath(checkpoint.path, ENVIRONMENTS), JSON.stringify({ save, runners: runners.map((runner) => runner ?? null) }));
  await given.saveFiles(checkpoint.path, save);
  const whole: AlgorithmFile = { format: "shoal-rl", formatVersion: FORMAT_VERSION, save, ...file, learner: learner.data };
  await writeWhole(joinPath(checkpoint.path, ALGORITHM), `${JSON.stringify(whole, undefined, 2)}\n`);
  return checkpoint;
}

/** Reads `algorithm.json`. @throws RLError where the folder holds no checkpoint, or one of a later version */
export async function readAlgorithmFile(path: string): Promise<AlgorithmFile> {
  const folder = new Checkpoint(path).path;
  const text = await readTextIfThere(joinPath(folder, ALGORITHM));
  if (text === undefined)
    throw new RLError(
      `Cannot read a checkpoint: ${folder} has no ${ALGORITHM}: it is no checkpoint of an algorithm, or its save was cut off`,
    );
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch (cause) {
    throw new RLError(`Cannot read a checkpoint: ${ALGORITHM} in ${folder} is no JSON: the file is damaged`, { cause });
  }
  if (!isPlainObject(file) || file["format"] !== "shoal-rl")
    throw new RLError(`Cannot read a checkpoint: ${ALGORITHM} in ${folder} is not of shoal/rl: received ${describeValue(file)}`);
  const { formatVersion } = file;
  if (typeof formatVersion !== "number" || formatVersion > FORMAT_VERSION)
    throw new RLError(
      `Cannot read a checkpoint: ${folder} has format version ${describeValue(formatVersion)}, and this version of Shoal reads up to ${FORMAT_VERSION}. Install a newer one`,
    );
  return file as unknown as AlgorithmFile;
}

/** Sets the weights of a module from a checkpoint. */
export async function readWeights(
  path: string,
  { save }: AlgorithmFile,
  { moduleId, module }: { moduleId: string; module: RLModule },
): Promise<void> {
  const file = joinPath(new Checkpoint(path).path, "modules", moduleId, "weights.safetensors");
  setWeights(module, (await readArrays(file, save)).arrays, file);
}

/** The state of the learner and of the runners. */
export async function readStates(
  path: string,
  { save, learner }: AlgorithmFile,
  moduleId: string,
): Promise<{ learner: LearnerState; runners: readonly (RunnerState | null)[] }> {
  const folder = new Checkpoint(path).path;
  const file = joinPath(folder, "modules", moduleId, "optimizer.safetensors");
  const { arrays } = await readArrays(file, save);
  const environments = joinPath(folder, ENVIRONMENTS);
  const text = await readTextIfThere(environments);
  const states = text === undefined ? undefined : (JSON.parse(text) as { save: string; runners: readonly (RunnerState | null)[] });
  if (states?.save !== save) throw mixed(environments);
  const named = Object.fromEntries(Array.from(arrays, ([name, { data }]) => [name, data as Float32Array]));
  return { learner: { data: learner, arrays: named }, runners: states.runners };
}

async function readArrays(path: string, save: string): Promise<NamedArrays> {
  const arrays = readSafetensors(await readWhole(path), path);
  if (arrays.metadata["save"] !== save) throw mixed(path);
  return arrays;
}

function mixed(path: string): RLError {
  return new RLError(
    `Cannot read a checkpoint: ${path} belongs to another save than ${ALGORITHM}: a save over it was cut off. Use another checkpoint`,
  );
}
