/**
 * `shoal timeline`: writes the calls of the cluster into a file that Perfetto opens.
 *
 * The text goes to the file as it comes, so memory does not grow with the number of calls. A file that could not be written whole is
 * removed.
 */
import { ShoalError } from "../../../runtime/base/errors.ts";
import { writeTexts } from "../../../runtime/os/files/logs/write-texts.ts";
import type { SpanBatch, StateFilter } from "../../state/state-reader.ts";
import { ADDRESS, type Command, defineCommand, UsageError } from "../command.ts";
import { FROM, withReader } from "./state-source.ts";

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

export const timelineCommand: Command = defineCommand({
  name: "timeline",
  summary: "write the calls of the cluster into a file for Perfetto",
  description: `Writes all calls that have begun as a Chrome trace: a row for each process, a slice for each call, and arrows from a call to
the calls that it made. Open the file at https://ui.perfetto.dev or in chrome://tracing.

Example: shoal timeline --last 60s --filename trace.json.gz`,
  options: {
    filename: { valueName: "FILE", help: "where to write (default: timeline-TIME.json); compressed if it ends with .gz" },
    job: { valueName: "ID", help: "only calls of this program" },
    last: { valueName: "TIME", help: "only calls that began in the last so long: 60s, 5m or 2h" },
    from: FROM,
    address: ADDRESS,
    json: { help: "print { filename, calls } as JSON" },
  },
  run: async ({ options, terminal }) => {
    const filters: StateFilter[] = [];
    if (options.job !== undefined) filters.push(["job_id", "=", options.job]);
    if (options.last !== undefined) filters.push(["start_time_ms", ">", Date.now() - lastMs(options.last)]);
    const filename = options.filename ?? `timeline-${new Date().toISOString().replaceAll(":", "-")}.json`;
    const calls = await withReader("timeline", options, (reader) =>
      writeTimeline(filename, reader.spans({ filters }), (text) => terminal.tell(`shoal: ${text}`)),
    );
    terminal.print(options.json ? JSON.stringify({ filename, calls }) : `${calls} calls are in ${filename}`);
  },
});

/** @throws UsageError for a text that is no time */
function lastMs(text: string): number {
  const { amount, unit = "" } = /^(?<amount>\d+(?:\.\d+)?)(?<unit>[smh])$/.exec(text)?.groups ?? {};
  const ms = Number(amount) * (UNITS[unit] ?? Number.NaN);
  if (ms > 0) return ms;
  throw new UsageError(`Cannot run shoal timeline: --last takes a time such as 60s, 5m or 2h: received ${text}.`);
}

/** @returns the number of calls */
async function writeTimeline(filename: string, batches: AsyncIterable<SpanBatch>, warn: (text: string) => void): Promise<number> {
  const { timelineTexts } = await import("../../state/timeline.ts");
  let calls = 0;
  async function* counted(): AsyncGenerator<SpanBatch, void, undefined> {
    for await (const batch of batches) {
      calls += batch.rows.length;
      for (const text of batch.warnings) warn(text);
      yield batch;
    }
  }
  try {
    await writeTexts(filename, timelineTexts(counted()));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new ShoalError(`Cannot write the timeline: ${message}.`, {
      reason: message,
      hint: "Name a file in a folder that you may write to: `shoal timeline --filename FILE`.",
      cause: error,
    });
  }
  return calls;
}
