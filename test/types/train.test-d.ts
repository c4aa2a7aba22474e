/** Types of training runs: trackers and callbacks beside each other, and results by their metrics. */
import {
  CometLoggerCallback,
  CSVLoggerCallback,
  DataParallelTrainer,
  type JsonLoggerCallback,
  MLflowLoggerCallback,
  type Result,
  type RunConfig,
  TBXLoggerCallback,
  type TrainCallback,
  WandbLoggerCallback,
} from "../../src/train/index.ts";
import { exactly } from "./api.ts";

const follow: TrainCallback = { afterReport: ({ metrics }) => void metrics };
declare const json: JsonLoggerCallback;

const trainer = new DataParallelTrainer<{ lr: number }, { loss: number }>({
  trainLoopPerWorker: ({ lr }) => void exactly<number>()(lr),
  trainLoopConfig: { lr: 1 },
  runConfig: {
    callbacks: [
      json,
      follow,
      new CSVLoggerCallback(),
      new TBXLoggerCallback(),
      new MLflowLoggerCallback({ trackingUri: "mlruns" }),
      new WandbLoggerCallback({ project: "p" }),
      new CometLoggerCallback({ online: false }),
    ],
  },
});
exactly<Promise<Result<{ loss: number }>>>()(trainer.fit());

/** A configuration that names its callbacks' type fits, too. */
declare const own: RunConfig<TrainCallback>;
export const withOwn = new DataParallelTrainer({ trainLoopPerWorker: () => {}, runConfig: own });

export const refused = new DataParallelTrainer({
  trainLoopPerWorker: () => {},
  // @ts-expect-error no callback has this method
  runConfig: { callbacks: [{ afterReports: () => {} }] },
});
