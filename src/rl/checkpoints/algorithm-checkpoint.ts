/**
 * Checkpoints of algorithms: a folder with JSON and safetensors, in which nothing is executed.
 *
 * `algorithm.json` is written last and names the save that all files belong to, so that a folder with files of two saves, or with missing files, is refused.
 * A folder of a later version is refused by name.
 */
import { describeValue, isPlainObject } from "../../core/internal.ts";
import { Checkpoint } from "../../runs/checkpoints/checkpoint.ts";
import { writeWhole } from "../../storage/listing/folders.ts";
import { joinPath } from "../../storage/paths.ts";
import { makeFolder } from "../../storage/places.ts";
import { readTextIfThere, readWhole } from "../../storage/read-file.ts";
import type { SavedConnector } from "../connectors/connector.ts";
import type { LoggedState } from "../callbacks/metrics-logger.ts";
import type { PolicyChanges } from "../config/policy-changes.ts";
import { RLError } from "../errors.ts";
import type { LearnerState } from "../learners/learner.ts";
import type { BuiltModule } from "../modules/module-spec.ts";
import { DEFAULT_MODULE_ID } from "../modules/policy-mapping.ts";
import type { RLModule } from "../modules/rl-module.ts";
import type { AgentReturn } from "../runners/env-runner.ts";
import type { SpaceJson } from "../spaces/space.ts";
import { type NamedArrays, readSafetensors, writeSafetensors } from "./safetensors.ts";
import { setWeights, weightsOf } from "./module-weights.ts";

/** Version 1 had one module, whose parts stood beside `algorithm`. */
const FORMAT_VERSION = 2;
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
  readonly agents?: readonly (readonly AgentReturn[])[] | undefined;
  /** Values that callbacks logged with a window. */
  readonly logged?: LoggedState | undefined;
}

/** A module in `algorithm.json`. Its weights and its optimizer are files of their own. */
interface SavedModule {
  readonly spaces: { readonly observation: SpaceJson; readonly action: SpaceJson };
  /** Between the observations and the module. */
  readonly connectors: readonly SavedConnector[];
  readonly learner: LearnerState["data"];
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
  readonly modules: Readonly<Record<string, SavedModule>>;
  readonly progress: Progress;
  /** Numbers of the training step. */
  readonly training?: object;
  /** Policies that were added and removed since the algorithm was built; missing where there are none. */
  readonly policyChanges?: PolicyChanges | undefined;
}

interface SavedAlgorithm {
  readonly file: Omit<AlgorithmFile, "format" | "formatVersion" | "save" | "modules">;
  readonly modules: readonly { readonly moduleId: string; readonly built: BuiltModule; readonly learner: LearnerState }[];
  readonly runners: readonly (object | undefined)[];
  /** Writes further files of the algorithm. */
  saveFiles(path: string, save: string): Promise<void>;
}

export async function writeCheckpoint(path: string, given: SavedAlgorithm): Promise<Checkpoint> {
  const { file, runners } = given;
  const checkpoint = new Checkpoint(path);
  const save = crypto.randomUUID();
  const metadata = { save };
  const modules: Record<string, SavedModule> = {};
  for (const { moduleId, built, learner } of given.modules) {
    const folder = joinPath(checkpoint.path, "modules", moduleId);
    await makeFolder(folder);
    const arrays = new Map(Object.entries(learner.arrays).map(([name, data]) => [name, { shape: [data.length], data }]));
    await writeWhole(joinPath(folder, "weights.safetensors"), writeSafetensors({ arrays: weightsOf(built.module), metadata }));
    await writeWhole(joinPath(folder, "optimizer.safetensors"), writeSafetensors({ arrays, metadata }));
    const spaces = { observation: built.observationSpace.toJSON(), action: built.actionSpace.toJSON() };
    modules[moduleId] = { spaces, connectors: built.encoder.toSaved(), learner: learner.data };
  }
  await writeWhole(joinPath(checkpoint.path, ENVIRONMENTS), JSON.stringify({ save, runners: runners.map((runner) => runner ?? null) }));
  await given.saveFiles(checkpoint.path, save);
  const whole: AlgorithmFile = { format: "shoal-rl", formatVersion: FORMAT_VERSION, save, ...file, modules };
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
  if (!Number.isSafeInteger(formatVersion) || (formatVersion as number) < 1 || (formatVersion as number) > FORMAT_VERSION)
    throw new RLError(
      `Cannot read a checkpoint: ${folder} has format version ${describeValue(formatVersion)}, and this version of Shoal reads up to ${FORMAT_VERSION}. Install a newer one`,
    );
  const today = formatVersion === 1 ? fromVersion1(file) : file;
  checkParts(today, folder);
  return today as unknown as AlgorithmFile;
}

/** Refuses a file without the parts that every checkpoint has. @throws RLError that names the first */
function checkParts(file: Record<string, unknown>, folder: string): void {
  const refuse = (path: string, kind: string): RLError =>
    new RLError(`Cannot read a checkpoint: ${path} is missing or no ${kind}: ${ALGORITHM} in ${folder} is damaged. Use another checkpoint`);
  const part = (of: Record<string, unknown>, name: string, path = name): Record<string, unknown> => {
    const value = of[name];
    if (isPlainObject(value)) return value;
    throw refuse(path, "object");
  };
  for (const name of ["algorithm", "save"]) if (typeof file[name] !== "string") throw refuse(name, "text");
  const modules = part(file, "modules");
  for (const id of Object.keys(modules)) {
    const spaces = part(part(modules, id, `modules.${id}`), "spaces", `modules.${id}.spaces`);
    for (const kind of ["observation", "action"]) part(spaces, kind, `modules.${id}.spaces.${kind}`);
  }
  const progress = part(file, "progress");
  for (const name of ["trainingIteration", "timeTotalMs", "envSteps", "episodes"])
    if (typeof progress[name] !== "number") throw refuse(`progress.${name}`, "number");
  for (const name of ["returns", "lengths"]) if (!Array.isArray(progress[name])) throw refuse(`progress.${name}`, "list");
  const config = part(file, "config");
  part(config, "given", "config.given");
  if (!Array.isArray(config["code"])) throw refuse("config.code", "list");
  if (file["policyChanges"] === undefined) return;
  const changes = part(file, "policyChanges");
  const isIds = (ids: unknown): boolean => Array.isArray(ids) && ids.every((id) => typeof id === "string");
  for (const name of ["added", "removed"]) if (!isIds(changes[name])) throw refuse(`policyChanges.${name}`, "list of ids");
}

/** Puts the parts of the one module where today's version has them. */
function fromVersion1(file: Record<string, unknown>): Record<string, unknown> {
  const { spaces, connectors = [], learner, ...others } = file;
  return { ...others, modules: { [DEFAULT_MODULE_ID]: { spaces, connectors, learner } } };
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

/** The state of a module's learner. @throws RLError where the checkpoint has no such module */
export async function readOptimizer(path: string, { save, modules }: AlgorithmFile, moduleId: string): Promise<LearnerState> {
  const file = joinPath(new Checkpoint(path).path, "modules", moduleId, "optimizer.safetensors");
  const { arrays } = await readArrays(file, save);
  const named = Object.fromEntries(Array.from(arrays, ([name, { data }]) => [name, data as Float32Array]));
  return { data: savedModule(modules, moduleId, path).learner, arrays: named };
}

/** A module of a checkpoint. @throws RLError that names the others where it has none of this id */
export function savedModule(modules: AlgorithmFile["modules"], moduleId: string, path: string): SavedModule {
  if (Object.hasOwn(modules, moduleId)) return modules[moduleId] as SavedModule;
  throw new RLError(
    `Cannot read policy ${describeValue(moduleId)} of ${path}: the checkpoint has ${Object.keys(modules).join(", ")}. Give one of them: { moduleId }`,
  );
}

/** The states of the runners, in their order. */
export async function readRunners(path: string, { save }: AlgorithmFile): Promise<readonly (object | null)[]> {
  const environments = joinPath(new Checkpoint(path).path, ENVIRONMENTS);
  const text = await readTextIfThere(environments);
  let states: unknown;
  try {
    states = text === undefined ? undefined : JSON.parse(text);
  } catch (cause) {
    throw new RLError(`Cannot read a checkpoint: ${environments} is no JSON: the file is damaged`, { cause });
  }
  if (!isPlainObject(states) || states["save"] !== save || !Array.isArray(states["runners"])) throw mixed(environments);
  return states["runners"] as (object | null)[];
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
