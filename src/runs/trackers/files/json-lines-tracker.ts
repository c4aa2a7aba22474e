/**
 * Writes each result as a line of JSON into `result.json`, and the configuration into `params.json`: Ray's files, which `Result.fromPath`
 * reads.
 */
import { type AppendedFile, openAppended } from "../../../storage/appending/appended-file.ts";
import { writeWhole } from "../../../storage/listing/folders.ts";
import { joinPath } from "../../../storage/paths.ts";
import { readTextIfThere } from "../../../storage/read-file.ts";
import { toFileNames } from "../../metrics/automatic-metrics.ts";
import { type Metrics, metricsText, parseMetrics } from "../../metrics/metrics.ts";
import { lastResultOf, missedResults } from "../missed-results.ts";
import type { TrackedRun, TrackedRunInfo, Tracker } from "../tracker.ts";

export const RESULT_FILE = "result.json";
export const PARAMS_FILE = "params.json";

const LINE_FEED = 10;

/** The file, and the last result in it. */
async function openLines(folder: string, options: { isNew: boolean }): Promise<{ file: AppendedFile; last: Metrics | undefined }> {
  const file = await openAppended(joinPath(folder, RESULT_FILE), options);
  const there = await file.contents();
  // A crash may have cut off the last line, and the next one must not continue it.
  const wholeBytes = there.lastIndexOf(LINE_FEED) + 1;
  if (wholeBytes < there.length) await file.replace(there.subarray(0, wholeBytes));
  return { file, last: wholeBytes === 0 ? undefined : lastLineOf(there.subarray(0, wholeBytes - 1)) };
}

/** Undefined for a line that is no result: a file of somebody else's. */
function lastLineOf(lines: Uint8Array): Metrics | undefined {
  try {
    return parseMetrics(Buffer.from(lines.subarray(lines.lastIndexOf(LINE_FEED) + 1)).toString("utf8")) as Metrics;
  } catch {
    return undefined;
  }
}

/** The last result that a run has written, in the spelling of files; undefined where there is none. */
export async function lastWrittenResult(folder: string): Promise<Metrics | undefined> {
  const text = await readTextIfThere(joinPath(folder, RESULT_FILE));
  const end = text?.lastIndexOf("\n") ?? -1;
  return text === undefined || end < 0 ? undefined : lastLineOf(Buffer.from(text.slice(0, end)));
}

function linesOf(results: readonly Metrics[]): string {
  return results.map((result) => `${metricsText(toFileNames(result))}\n`).join("");
}

export class JsonLoggerCallback implements Tracker {
  readonly name = "JsonLoggerCallback";

  async open({ folder, config, isResumed }: TrackedRunInfo): Promise<TrackedRun> {
    await writeWhole(joinPath(folder, PARAMS_FILE), metricsText(config), { isDurable: false });
    const { file } = await openLines(folder, { isNew: !isResumed });
    return { log: (results) => file.append(linesOf(results)), close: () => file.close() };
  }

  async catchUp({ folder }: TrackedRunInfo, results: readonly Metrics[]): Promise<void> {
    const { file, last } = await openLines(folder, { isNew: false });
    const missed = missedResults(results, lastResultOf(last));
    if (missed.length > 0) await file.append(linesOf(missed));
    await file.close();
  }
}
