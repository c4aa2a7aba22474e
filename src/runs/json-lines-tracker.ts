/** Writes each result as a line of JSON into `result.json`, and the configuration into `params.json`: the files of Ray, and what `Result.fromPath` reads. */
import { openAppended } from "../storage/appended-file.ts";
import { writeWhole } from "../storage/folders.ts";
import { joinPath } from "../storage/paths.ts";
import { toFileNames } from "./automatic-metrics.ts";
import { metricsText } from "./metrics.ts";
import type { TrackedRun, TrackedRunInfo, Tracker } from "./tracker.ts";

export const RESULT_FILE = "result.json";
export const PARAMS_FILE = "params.json";

export class JsonLoggerCallback implements Tracker {
  readonly name = "JsonLoggerCallback";

  async open({ folder, config }: TrackedRunInfo): Promise<TrackedRun> {
    await writeWhole(joinPath(folder, PARAMS_FILE), Buffer.from(metricsText(config)));
    const file = await openAppended(joinPath(folder, RESULT_FILE));
    return {
      log: (results) => file.append(results.map((result) => `${metricsText(toFileNames(result))}\n`).join("")),
      async close() {
        await file.sync();
        await file.close();
      },
    };
  }
}
