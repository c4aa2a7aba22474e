/**
 * Options of a run: its name, its storage, how often it may fail, and which checkpoints stay. Train and Tune share most of them; some belong to one library only.
 *
 * `readRunConfig` checks all options before anything starts. Unknown names are refused; the error for an option of the other library says
 * so. `storage/` decides whether a storage is usable.
 */
import type { RuntimeEnv } from "../core/index.ts";
import {
  count,
  custom,
  flag,
  milliseconds,
  number,
  oneOf,
  type Option,
  plainObject,
  readOptions,
  text,
  TIMER_MS_MAX,
} from "../core/internal.ts";
import { withHome } from "../storage/paths.ts";
import { resolveFolder } from "../storage/places.ts";
import { COLLECTIVE_WARN_INTERVAL_MS, HEALTH_CHECK_INTERVAL_MS, RENDEZVOUS_MS_MAX } from "./limits.ts";
import { checkName } from "./folder/run-names.ts";

/** Handling of failed runs and trials. */
export interface FailureConfig {
  /** How often a failed run is restarted from its last checkpoint; -1: no limit. Default: 0. */
  maxFailures?: number | undefined;
  /** Time without a report after which a rank, or a trial, counts as hung and fails. Default: never. */
  reportTimeoutMs?: number | undefined;
  /** Train: time for the ranks to meet before their loops begin. After it the missing ranks are named. Default: 600,000. */
  rendezvousTimeoutMs?: number | undefined;
  /**
   * Train: time for a group to get its resources and its processes. After it the group fails. Default: without limit, and a warning names
   * the reason for the wait.
   */
  startTimeoutMs?: number | undefined;
  /** Train: how often the processes of ranks are pinged. Default: 2000. */
  healthCheckIntervalMs?: number | undefined;
  /**
   * Train: time without an answer to a ping after which a process counts as hung. Default: 600,000 for loops of Python; never for those of
   * TypeScript, which answer nothing while they compute.
   */
  healthCheckTimeoutMs?: number | undefined;
  /** Train: time after which a warning names the ranks that a report waits for. Default: 60,000. */
  collectiveWarnIntervalMs?: number | undefined;
  /** Train: number of failures of a group before its loops begin; -1: no limit. Default: such failures count towards `maxFailures`. */
  controllerFailureLimit?: number | undefined;
  /** Train: how often drained nodes may end an attempt; -1: no limit. Default: -1. */
  maxPreemptionFailures?: number | undefined;
  /** Train: time for the other ranks to report a last checkpoint after ranks of a drained node have gone. Default: 0. */
  preemptionGraceMs?: number | undefined;
  /** Train: whether reports and barriers within that grace are made without the ranks that are gone, unless rank 0 is one. Default: false. */
  relaxCollectivesOnPreemption?: boolean | undefined;
  /** Tune: whether the first failed trial ends the others; `"raise"` throws that trial's error. Default: false. */
  failFast?: boolean | "raise" | undefined;
}

/** Retention of checkpoints, and for classes of Tune their frequency. */
export interface CheckpointConfig {
  /** How many stay; the newest always does. Default: all. */
  numToKeep?: number | undefined;
  /** Metric by which the best ones are kept. Default: none, the newest ones stay. */
  checkpointScoreAttribute?: string | undefined;
  /** Whether a high score is good. Default: `"max"`. */
  checkpointScoreOrder?: "max" | "min" | undefined;
  /** Tune: iterations from one checkpoint of a class to the next; 0 is never. Default: 0. */
  checkpointFrequency?: number | undefined;
  /** Tune: whether a class makes a checkpoint at its end. Default: false. */
  checkpointAtEnd?: boolean | undefined;
}

/** Levels of Python's loggers. Shoal's own lines have `"INFO"` and `"WARNING"`. */
export type LogLevel = "DEBUG" | "INFO" | "WARNING" | "ERROR" | "CRITICAL";

/** Lines about a run on stderr, apart from the ranks' output. */
export interface LoggingConfig {
  /** Lowest level of written lines: `"INFO"` has one for each attempt and checkpoint, `"ERROR"` none at all. Default: `"WARNING"`. */
  logLevel?: LogLevel | undefined;
}

/** The options of a run. */
export interface RunConfig<Callback = object> {
  /** The name of the run's folder in the storage. Default: the name of the trainable, and the time. */
  name?: string | undefined;
  /** The folder of all runs: of this machine, or `s3://bucket/…`. Every node must see it. Default: `~/shoal_results`. */
  storagePath?: string | undefined;
  failureConfig?: FailureConfig | undefined;
  checkpointConfig?: CheckpointConfig | undefined;
  /** Callbacks and trackers that follow the run, in addition to the files. Default: none. */
  callbacks?: readonly Callback[] | undefined;
  /** Train: the environment of the ranks, over that of `python.task` and under `runtimeEnv` of the trainer. Default: none. */
  workerRuntimeEnv?: RuntimeEnv | undefined;
  /**
   * Train: whether each rank works in its own folder, `rank-0` and so on in the run's folder. false: in the program's folder. Default: true, unless the ranks'
   * environment names a `workingDir`.
   */
  chdirToRankDir?: boolean | undefined;
  /** Train: the lines about the run on stderr. */
  loggingConfig?: LoggingConfig | undefined;
  /** Tune: when trials stop. */
  stop?: unknown;
  /** Tune: whether a run of this name is replaced. Default: false. */
  overwrite?: boolean | undefined;
  /**
   * Tune: amount of output while it runs. 0: nothing, 1: the numbers of trials, 2: a table, 3: each result, too. Default: 2 on a terminal,
   * otherwise 0.
   */
  verbose?: 0 | 1 | 2 | 3 | undefined;
  /** Tune: the columns and rows of the table. */
  progressReporter?: unknown;
}

/** A run's options, complete with defaults. */
export interface ResolvedRunConfig<Callback = object> {
  readonly name: string | undefined;
  /** In full. */
  readonly storagePath: string;
  readonly failureConfig: {
    readonly maxFailures: number;
    readonly reportTimeoutMs: number | undefined;
    readonly rendezvousTimeoutMs: number;
    readonly startTimeoutMs: number | undefined;
    readonly healthCheckIntervalMs: number;
    readonly healthCheckTimeoutMs: number | undefined;
    readonly collectiveWarnIntervalMs: number;
    readonly controllerFailureLimit: number | undefined;
    readonly maxPreemptionFailures: number;
    readonly preemptionGraceMs: number;
    readonly relaxCollectivesOnPreemption: boolean;
    readonly failFast: boolean | "raise";
  };
  readonly checkpointConfig: {
    readonly numToKeep: number | undefined;
    readonly checkpointScoreAttribute: string | undefined;
    readonly checkpointScoreOrder: "max" | "min";
    readonly checkpointFrequency: number;
    readonly checkpointAtEnd: boolean;
  };
  readonly callbacks: readonly Callback[];
  readonly workerRuntimeEnv: RuntimeEnv | undefined;
  readonly chdirToRankDir: boolean | undefined;
  readonly logLevel: LogLevel;
  readonly stop: unknown;
  readonly overwrite: boolean;
  readonly verbose: 0 | 1 | 2 | 3 | undefined;
  readonly progressReporter: unknown;
}

const STORAGE_DEFAULT = "~/shoal_results";

export type RunLibrary = "train" | "tune";

/**
 * Checks the options of a run and gives each its value: options of the other library have their defaults.
 *
 * @throws TypeError, RangeError that name the option
 * @throws StorageError for a storage that cannot be written
 */
export async function readRunConfig<Callback extends object>(
  given: RunConfig<Callback> | undefined,
  library: RunLibrary,
): Promise<ResolvedRunConfig<Callback>> {
  const { failureConfig, checkpointConfig, loggingConfig, storagePath, ...others } = readFor(library, given, RUN) as RunValues<Callback>;
  return {
    ...others,
    logLevel: readOptions<{ logLevel: LogLevel }>(loggingConfig, { of: "loggingConfig", options: LOGGING }).logLevel,
    storagePath: await resolveFolder(withHome(storagePath)),
    failureConfig: readFailureConfig(failureConfig, library),
    checkpointConfig: readFor(library, checkpointConfig, CHECKPOINT) as ResolvedRunConfig["checkpointConfig"],
  };
}

function readFailureConfig(given: unknown, library: RunLibrary): ResolvedRunConfig["failureConfig"] {
  const read = readFor(library, given, FAILURE) as ResolvedRunConfig["failureConfig"];
  if (read.relaxCollectivesOnPreemption && read.preemptionGraceMs === 0)
    throw new RangeError(
      "Cannot set relaxCollectivesOnPreemption of failureConfig: it needs preemptionGraceMs, without which all ranks end as soon as those of a drained node are gone: received true",
    );
  return read;
}

type Table = Readonly<Record<string, Option<unknown>>>;

/** The options of one object: common ones, and those that only one library has. */
interface LibraryOptions {
  readonly of: string;
  readonly otherNames?: Readonly<Record<RunLibrary, Readonly<Record<string, string>>>>;
  readonly both: Table;
  readonly train: Table;
  readonly tune: Table;
}

/** Reads each option of a library. @throws TypeError, RangeError; for an option of the other library the message names that library */
function readFor(library: RunLibrary, given: unknown, { of, otherNames, both, train, tune }: LibraryOptions): object {
  const [own, others, owner] = library === "train" ? [train, tune, "Tune"] : [tune, train, "Train"];
  const notHere = Object.fromEntries(Object.keys(others).map((name) => [name, `it is an option of ${owner}`]));
  const defaults = Object.fromEntries(Object.entries(others).map(([name, { fallback }]) => [name, fallback]));
  const options: Table = { ...both, ...own };
  return { ...defaults, ...readOptions(given, { of, options, otherNames: { ...notHere, ...otherNames?.[library] } }) };
}

/** Names of Ray, as Python and as TypeScript would spell them. */
const inBothSpellings = (names: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(names).flatMap(([name, remedy]) => [
      [name, remedy],
      [name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), remedy],
    ]),
  );

const OTHER_NAMES = inBothSpellings({
  experimentName: "it is name",
  localDir: "it is storagePath",
  storageFilesystem: "there is none: storagePath takes s3://bucket/path, and the usual variables of the environment say where and who",
  syncConfig: "there is none: what is reported is stored when report resolves",
  logToFile: "there is none: what ranks and trials print is kept in the run's folder",
});

const OTHER_NAMES_OF_TRAIN = inBothSpellings({
  verbose: "it is an option of Tune: lines of progress are for terminals, and SHOAL_PROGRESS=0 ends them",
  progressReporter: "it is an option of Tune: lines of progress are for terminals, and SHOAL_PROGRESS=0 ends them",
});

const OTHER_NAMES_OF_FAILURE = { preemption_grace_s: "it is preemptionGraceMs, in milliseconds" };

type RunValues<Callback> = Omit<ResolvedRunConfig<Callback>, "failureConfig" | "checkpointConfig" | "logLevel"> &
  Readonly<Record<"failureConfig" | "checkpointConfig" | "loggingConfig", unknown>>;

const RUN: LibraryOptions = {
  of: "runConfig",
  otherNames: { train: { ...OTHER_NAMES, ...OTHER_NAMES_OF_TRAIN }, tune: OTHER_NAMES },
  both: {
    name: custom<string | undefined>("the name of a folder is needed", undefined, (value) => {
      checkName(value, "Cannot set name of runConfig: it");
      return "ok";
    }),
    storagePath: text(STORAGE_DEFAULT),
    failureConfig: plainObject("an object such as { maxFailures: 2 } is needed"),
    checkpointConfig: plainObject("an object such as { numToKeep: 2 } is needed"),
    callbacks: custom("a list of callbacks is needed", [], (value) =>
      Array.isArray(value) && value.every((item) => typeof item === "object" && item !== null) ? "ok" : "wrong type",
    ),
  },
  train: {
    workerRuntimeEnv: plainObject('an object such as { python: "venv" } is needed'),
    chdirToRankDir: flag(undefined as never),
    loggingConfig: plainObject('an object such as { logLevel: "ERROR" } is needed'),
  },
  tune: {
    stop: custom<unknown>("a condition is needed", undefined, () => "ok"),
    overwrite: flag(false),
    verbose: number<number | undefined>("0, 1, 2 or 3 is needed", undefined, (value) => [0, 1, 2, 3].includes(value)),
    progressReporter: plainObject("an object such as { maxProgressRows: 5 } is needed"),
  },
};

const LOGGING = { logLevel: oneOf<LogLevel>(["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], "WARNING") };

const timer = (fallback: number | undefined): Option<number | undefined> =>
  number<number | undefined>(
    `a number of milliseconds above 0 and up to ${TIMER_MS_MAX} is needed`,
    fallback,
    (value) => value > 0 && value <= TIMER_MS_MAX,
  );

const FAILURE: LibraryOptions = {
  of: "failureConfig",
  otherNames: { train: OTHER_NAMES_OF_FAILURE, tune: OTHER_NAMES_OF_FAILURE },
  both: { maxFailures: count({ min: -1 }, 0), reportTimeoutMs: timer(undefined) },
  train: {
    rendezvousTimeoutMs: timer(RENDEZVOUS_MS_MAX),
    startTimeoutMs: timer(undefined),
    healthCheckIntervalMs: timer(HEALTH_CHECK_INTERVAL_MS),
    healthCheckTimeoutMs: timer(undefined),
    collectiveWarnIntervalMs: timer(COLLECTIVE_WARN_INTERVAL_MS),
    controllerFailureLimit: count<number | undefined>({ min: -1 }, undefined),
    maxPreemptionFailures: count({ min: -1 }, -1),
    preemptionGraceMs: milliseconds(0),
    relaxCollectivesOnPreemption: flag(false),
  },
  tune: {
    failFast: custom<boolean | "raise">('true, false or "raise" is needed', false, (value) =>
      typeof value === "boolean" || value === "raise" ? "ok" : typeof value === "string" ? "out of range" : "wrong type",
    ),
  },
};

const CHECKPOINT: LibraryOptions = {
  of: "checkpointConfig",
  both: {
    numToKeep: count<number | undefined>({ min: 1 }, undefined),
    checkpointScoreAttribute: text<string | undefined>(undefined),
    checkpointScoreOrder: oneOf(["max", "min"], "max"),
  },
  train: {},
  tune: { checkpointFrequency: count({ min: 0 }, 0), checkpointAtEnd: flag(false) },
};
