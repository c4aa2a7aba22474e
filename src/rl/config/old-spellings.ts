/**
 * Names of older versions of RLlib, which go on working.
 *
 * Each is turned into today's name when it is set, and says so in one line a process. An option that is given under both names is refused, also where both agree.
 * The results and checkpoints have today's names alone.
 */

/** Old names of options of `training()`. */
export const OLD_TRAINING: Readonly<Record<string, string>> = {
  numSgdIter: "numEpochs",
  sgdMinibatchSize: "minibatchSize",
  trainBatchSize: "trainBatchSizePerLearner",
};

/** Old names of options of `rollouts()`, itself an old name of `envRunners()`. */
export const OLD_ROLLOUTS: Readonly<Record<string, string>> = { numRolloutWorkers: "numEnvRunners", numWorkers: "numEnvRunners" };

export interface OldTraining {
  /** @deprecated Use `numEpochs`. */
  readonly numSgdIter?: number | undefined;
  /** @deprecated Use `minibatchSize`. */
  readonly sgdMinibatchSize?: number | undefined;
  /** @deprecated Use `trainBatchSizePerLearner`. */
  readonly trainBatchSize?: number | undefined;
}

export interface OldRollouts {
  /** @deprecated Use `numEnvRunners`. */
  readonly numRolloutWorkers?: number | undefined;
  /** @deprecated Use `numEnvRunners`. */
  readonly numWorkers?: number | undefined;
}

const said = new Set<string>();

/** Says today's name, once a process. */
export function sayToday(old: string, today: string): void {
  sayOnce(`${old} is an old spelling: today it is ${today}`);
}

/** Prints a line, once a process. */
function sayOnce(line: string): void {
  if (said.has(line)) return;
  said.add(line);
  console.warn(`Shoal: ${line}`);
}

/** Options under today's names. `spelledBefore` has the options that were set until now, with the names that were used, and takes those of these. */
export function underTodaysNames(
  given: object | undefined,
  {
    of,
    old,
    isKnown,
    spelledBefore,
  }: { of: string; old: Readonly<Record<string, string>>; isKnown: (name: string) => boolean; spelledBefore: Map<string, string> },
): object | undefined {
  if (typeof given !== "object" || given === null) return given;
  const translated: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const known = Object.hasOwn(old, name) ? (old[name] as string) : name;
    const today = isKnown(known) ? known : name;
    const before = spelledBefore.get(today);
    if (before !== undefined && before !== name)
      throw new TypeError(
        `Cannot set ${name} of ${of}: ${before} has set it, as ${today} has both names: received ${String(value)}. Give one of them`,
      );
    spelledBefore.set(today, name);
    if (today !== name) sayToday(name, today);
    translated[today] = value;
  }
  return translated;
}
