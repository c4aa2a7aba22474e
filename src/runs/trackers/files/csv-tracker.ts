/**
 * Writes results as the rows of `progress.csv`, as Ray does: nested metrics are columns such as `eval/loss`, values are spelled as Python spells them.
 *
 * A metric that is first reported later becomes a column at the end: the file is rewritten, and earlier rows are empty there. A row that a
 * crash has torn is removed when the run continues.
 */
import { type AppendedFile, openAppended } from "../../../storage/appending/appended-file.ts";
import { joinPath } from "../../../storage/paths.ts";
import { toFileNames } from "../../metrics/automatic-metrics.ts";
import { csvCell, csvRow, parseCsvRows } from "./csv-rows.ts";
import { flatMetrics, type JsonValue, type Metrics } from "../../metrics/metrics.ts";
import { lastResultOf, missedResults } from "../missed-results.ts";
import type { TrackedRun, TrackedRunInfo, Tracker } from "../tracker.ts";

const PROGRESS_FILE = "progress.csv";

export class CSVLoggerCallback implements Tracker {
  readonly name = "CSVLoggerCallback";

  async open({ folder, isResumed }: TrackedRunInfo): Promise<TrackedRun> {
    return await openProgress(await openAppended(joinPath(folder, PROGRESS_FILE), { isNew: !isResumed }));
  }

  async catchUp({ folder }: TrackedRunInfo, results: readonly Metrics[]): Promise<void> {
    const file = await openAppended(joinPath(folder, PROGRESS_FILE));
    const { rows } = parseCsvRows(Buffer.from(await file.contents()).toString("utf8"));
    const [columns = []] = rows;
    const last = rows.length < 2 ? undefined : Object.fromEntries(columns.map((name, i) => [name, rows.at(-1)?.[i]]));
    const missed = missedResults(results, lastResultOf(last));
    const run = await openProgress(file);
    if (missed.length > 0) await run.log(missed);
    await run.close("finished");
  }
}

async function openProgress(file: AppendedFile): Promise<TrackedRun> {
  const text = Buffer.from(await file.contents()).toString("utf8");
  const there = parseCsvRows(text);
  const columns = new Set(there.rows[0] ?? []);
  if (there.isTorn) await file.replace(Buffer.from(there.rows.map(csvRow).join("")));
  return {
    async log(results) {
      const rows = results.map(flatRow);
      const added = new Set(rows.flatMap((row) => [...row.keys()]).filter((name) => !columns.has(name)));
      const isFirst = columns.size === 0;
      const names = [...columns, ...added];
      const lines = rows.map((row) => csvRow(names.map((name) => csvCell(row.get(name))))).join("");
      // The first rows bring their header. A separate file, moved to its place, would cost each of ten thousand trials as much as all the
      // rest.
      if (isFirst) await file.append(csvRow(names) + lines);
      else if (added.size === 0) await file.append(lines);
      else await file.replace(Buffer.concat([await widened(file, names), Buffer.from(lines)]));
      // Only after the write, since a failed call is repeated.
      for (const name of added) columns.add(name);
    },
    close: () => file.close(),
  };
}

/** The rows so far, under a header with more columns at its end. */
async function widened(file: AppendedFile, columns: readonly string[]): Promise<Buffer> {
  const [, ...rows] = parseCsvRows(Buffer.from(await file.contents()).toString("utf8")).rows;
  return Buffer.from([columns, ...rows.map((row) => columns.map((_, i) => row[i] ?? ""))].map(csvRow).join(""));
}

function flatRow(result: Metrics): Map<string, JsonValue> {
  const { config: _, ...metrics } = toFileNames(result);
  return flatMetrics(metrics);
}
