/**
 * Writes metrics as TensorBoard's event files: numbers under their names, and the configuration for the plugin HParams.
 *
 * Each opening begins a new file, as in TensorFlow: TensorBoard reads all files of a folder in order, so a file from before a crash is
 * never touched.
 */
import { machineName } from "../../../core/internal.ts";
import { openAppended } from "../../../storage/appending/appended-file.ts";
import { joinPath } from "../../../storage/paths.ts";
import { eventRecord, scalarsEvent, sessionEndEvent, sessionStartEvent, versionEvent } from "./event-file.ts";
import { flatMetrics, type Metrics, metricsText } from "../../metrics/metrics.ts";
import type { TrackedRun, TrackedRunInfo, Tracker } from "../tracker.ts";

/** Counted or shown in another form, so they have no curves, as in Ray. */
const LEFT_OUT: ReadonlySet<string> = new Set(["config", "pid", "timestampMs", "timeTotalMs", "trainingIteration"]);

export class TBXLoggerCallback implements Tracker {
  readonly name = "TBXLoggerCallback";

  async open({ folder, config }: TrackedRunInfo): Promise<TrackedRun> {
    const now = (): number => Date.now() / 1000;
    const file = await openAppended(joinPath(folder, fileName(Date.now())), { isNew: true });
    // Written with the first results: a file that is opened twice costs a short trial as much as its result.
    let start = [eventRecord(versionEvent(now())), eventRecord(sessionStartEvent(now(), hyperparameters(config)))];
    let reports = 0;
    let isEnded = false;
    return {
      async log(results) {
        const records = results.map((result, i) => {
          const step = stepOf(result) ?? reports + i + 1;
          return eventRecord(scalarsEvent({ wallTime: timeOf(result) ?? now(), step, values: scalars(result) }));
        });
        await file.append(Buffer.concat([...start, ...records]));
        // Only after the write, since a failed call is repeated.
        reports += results.length;
        start = [];
      },
      async close(state) {
        if (!isEnded) await file.append(Buffer.concat([...start, eventRecord(sessionEndEvent(now(), state))]));
        isEnded = true;
        await file.close();
      },
    };
  }
}

let files = 0;

/** Unlike that of any other file, and after the names of older ones: TensorBoard reads the files of a folder by their order. */
function fileName(nowMs: number): string {
  files += 1;
  return `events.out.tfevents.${nowMs}.${machineName()}.${process.pid}.${String(files).padStart(6, "0")}`;
}

function stepOf({ trainingIteration: step }: Metrics): number | undefined {
  return typeof step === "number" && Number.isSafeInteger(step) && step >= 0 ? step : undefined;
}

function timeOf({ timestampMs }: Metrics): number | undefined {
  return typeof timestampMs === "number" ? timestampMs / 1000 : undefined;
}

function* scalars(result: Metrics): Generator<readonly [string, number]> {
  const kept = Object.fromEntries(Object.entries(result).filter(([name]) => !LEFT_OUT.has(name)));
  for (const [name, value] of flatMetrics(kept)) if (typeof value === "number") yield [name, value];
}

function* hyperparameters(config: Metrics): Generator<readonly [string, number | boolean | string]> {
  for (const [name, value] of flatMetrics(config)) {
    if (value === null) continue;
    yield [name, typeof value === "object" ? metricsText(value) : value];
  }
}
