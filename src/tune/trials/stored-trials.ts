/**
 * The trials of a run, read from its folder: while it runs, after it has ended, or after its driver has died.
 *
 * The log's events are applied to a machine of the same options, so a reader sees the driver's state. A scheduler that the folder cannot
 * make is not needed: its decisions are in the log. Nothing is written, and nothing is claimed.
 */
import { readRunRecord } from "../../runs/folder/run-folder.ts";
import { RunLog } from "../../runs/folder/run-log.ts";
import { RunPaths } from "../../runs/folder/run-paths.ts";
import { joinPath } from "../../storage/paths.ts";
import { resolveFolder } from "../../storage/places.ts";
import { ConfigCodec } from "../spaces/config-codec.ts";
import { optionsOf } from "../spaces/definition.ts";
import { TuneError } from "../errors.ts";
import type { ExperimentState } from "../experiment/experiment.ts";
import type { KnownTrial, LiveTrial } from "./live-trial.ts";
import { EXPERIMENT_LOG } from "../limits.ts";
import type { SavedExperiment } from "../experiment/saved-experiment.ts";
import { decodeSpace } from "../spaces/space-codec.ts";
import { RecordedScheduler } from "../experiment/recorded-decisions.ts";
import { createScheduler } from "../schedulers/create-scheduler.ts";
import type { TrialScheduler } from "../scheduler.ts";
import type { SearchSpace } from "../spaces/space.ts";
import type { Definition, Metrics, Mode } from "./trial.ts";
import { TrialMachine } from "../experiment/trial-machine.ts";

export interface StoredTrial extends Omit<KnownTrial, "config"> {
  /** The configuration as JSON, with a few words in place of values that JSON has no form for. */
  readonly config: Metrics;
  readonly path: string;
}

export interface StoredRun {
  readonly path: string;
  readonly state: "running" | "finished" | "failed";
  readonly metrics: readonly string[];
  readonly modes: readonly Mode[];
  /** In the order in which they were suggested. */
  readonly trials: readonly StoredTrial[];
}

/** A run with the trials' original configurations. */
interface KnownRun extends Omit<StoredRun, "trials"> {
  readonly trials: readonly KnownTrial[];
}

/** @throws as `readKnownRun` */
export async function readStoredRun(given: string): Promise<StoredRun> {
  const { path, trials, ...run } = await readKnownRun(given);
  return {
    ...run,
    path,
    trials: trials.map((trial) => ({ ...trial, config: ConfigCodec.shown(trial.config), path: joinPath(path, trial.dirname) })),
  };
}

/**
 * @param space - for values that JSON has no form for, which the folder does not hold. Default: that of the folder
 * @throws TuneError where the folder holds no run of Tune; RunError for one that is damaged or of a newer version
 */
export async function readKnownRun(given: string, space?: SearchSpace): Promise<KnownRun> {
  const path = await resolveFolder(given);
  const record = await readRunRecord(path);
  if (record?.library !== "tune")
    throw new TuneError(`Cannot read the run ${path}: there is no run of Tune in this folder`, {
      hint: "Name the folder of one run: storagePath and the run's name, such as ~/shoal_results/mine.",
    });
  const saved = record.details as unknown as SavedExperiment;
  const { snapshot, records } = await RunLog.open({ folder: path, name: EXPERIMENT_LOG });
  const codec = new ConfigCodec(space ?? decodeSpace(saved.space), new RunPaths(path));
  const recorded = saved.scheduler === null ? new RecordedScheduler({ asksAhead: saved.asksAhead }) : undefined;
  const scheduler = recorded ?? createdScheduler(saved.scheduler as Definition);
  scheduler.setSearchProperties(
    saved.metrics.length === 1 ? saved.metrics[0] : undefined,
    saved.modes.length === 1 ? saved.modes[0] : undefined,
  );
  const machine = new TrialMachine({
    runId: saved.runId,
    metrics: saved.metrics,
    keep: saved.checkpointConfig,
    scheduler,
  });
  if (snapshot !== undefined) machine.restore(codec.readMachine((snapshot as unknown as ExperimentState).machine));
  for (const event of records) {
    recorded?.expect(codec.readDecisions(event));
    machine.apply(codec.readEvent(event));
  }
  const live = [...machine.liveTrials.values(), ...machine.endingTrials].map((trial) => ({
    ...(trial as LiveTrial).finished("terminated"),
    status: trial.status,
  }));
  const trials = [...machine.finishedTrials, ...live].sort((a, b) => a.index - b.index);
  return { path, state: record.state, metrics: saved.metrics, modes: saved.modes, trials };
}

function createdScheduler(definition: Definition): TrialScheduler {
  return createScheduler(definition.type, optionsOf(definition));
}
