/**
 * Writes each result as a line of JSON into `result.json`, and the configuration into `params.json`: Ray's files, which `Result.fromPath`
 * reads.
 */
import { openAppended } from "../storage/appended-file.ts";
import { writeWhole } from "../storage/folders.ts";
import { joinPath } from "../storage/paths.ts";
import { toFileNames } from "./automatic-metrics.ts";
import { metricsText } from "./metrics.ts";
import type { TrackedRun, TrackedRunInfo, Tracker } from "./tracker.ts";

export const RESULT_FILE = "result.json";
export const PARAMS_FILE = "params.json";

const LINE_FEED = 10;

export class JsonLoggerCallback implements Tracker {
  readonly name = "JsonLoggerCallback";

  async open({ folder, config, isResumed }: TrackedRunInfo): Promise<TrackedRun> {
    await writeWhole(joinPath(folder, PARAMS_FILE), metricsText(config), { isDurable: false });
    const file = await openAppended(joinPath(folder, RESULT_FILE), { isNew: !isResumed });
    const there = await file.contents();
    // A crash may have cut off the last line, and the next one must not continue it.
    const wholeBytes = there.lastIndexOf(LINE_FEED) + 1;
    if (wholeBytes < there.length) await file.replace(there.subarray(0, wholeBytes));
    return {
      log: (results) => file.append(results.map((result) => `${metricsText(toFileNames(result))}\n`).join("")),
      close: () => file.close(),
    };
  }
}
