/**
 * The functions for the code of a trial: `report`, `getCheckpoint`, `getContext`.
 *
 * An actor runs one trial at a time. In in-process mode several actors share a process, so the running actor determines the session. Outside of a trial the functions throw,
 * so that a misplaced call does not lose results silently.
 */
import { getRuntimeContext } from "../core/index.ts";
import { readOptions } from "../core/internal.ts";
import { type Checkpoint, CHECKPOINT_OPTION } from "../runs/checkpoints/checkpoint.ts";
import { checkMetrics, type Metrics } from "../runs/metrics/metrics.ts";
import { TuneError } from "./errors.ts";
import type { TrialResources } from "./trials/trial.ts";

/** Where a trial's code is: the trial, and its folder. */
export interface TuneContext {
  readonly trialId: string;
  readonly trialName: string;
  /** The trial's folder in the run's storage. */
  readonly trialDir: string;
  readonly trialResources: TrialResources;
  readonly experimentName: string;
}

export interface ReportOptions {
  /** Checkpoint from which the trial can continue after this report. `report` copies it into the run's storage before it returns. */
  readonly checkpoint?: Checkpoint | undefined;
}

/** A running trial, as the functions here need it. */
export interface TrialSession {
  readonly context: TuneContext;
  readonly checkpoint: Checkpoint | undefined;
  report(metrics: Metrics, checkpoint: Checkpoint | undefined): Promise<void>;
}

const sessions = new Map<string, TrialSession>();

/** Sets the session of the actor that runs. @returns a function that ends it */
export function openSession(session: TrialSession): () => void {
  const key = actorKey();
  sessions.set(key, session);
  return () => {
    if (sessions.get(key) === session) sessions.delete(key);
  };
}

/**
 * Reports metrics of the running trial, and waits until Tune has decided about it. In a trial that is stopped or paused, `report` throws,
 * so that `finally` blocks run.
 *
 * @param metrics - values of JSON by name: `{ loss: 0.5 }`
 * @throws TypeError for values that JSON cannot represent, and for an unknown option
 * @example
 * for (let epoch = 0; epoch < 10; epoch++) await report({ loss: train(config, epoch) });
 */
export function report(metrics: Metrics, options?: ReportOptions): Promise<void> {
  const reported = reportNow(metrics, options);
  // Where it is not awaited, a trial that is stopped must not end its process with it.
  reported.catch(() => {});
  return reported;
}

async function reportNow(metrics: Metrics, options: ReportOptions | undefined): Promise<void> {
  const session = currentSession("report");
  const checked = checkMetrics(metrics, "Cannot report");
  await session.report(checked, readOptions(options, REPORT).checkpoint);
}

const REPORT = { of: "report", options: { checkpoint: CHECKPOINT_OPTION } };

/** The checkpoint to continue from: the trial's own before it was paused or failed, or another's. Undefined for a trial that begins. */
export function getCheckpoint(): Checkpoint | undefined {
  return currentSession("get a checkpoint").checkpoint;
}

/** The trial that runs. */
export function getContext(): TuneContext {
  return currentSession("get the context").context;
}

function currentSession(action: string): TrialSession {
  const [only] = sessions.size === 1 ? sessions.values() : [];
  const session = only ?? (sessions.size === 0 ? undefined : sessions.get(actorKey()));
  if (session === undefined) throw new TuneError(`Cannot ${action}: no trial runs here: call it in a function or class that a Tuner runs`);
  return session;
}

function actorKey(): string {
  return getRuntimeContext().actorId ?? "";
}
