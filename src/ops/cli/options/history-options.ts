/**
 * The options of `shoal start` about the history that a node keeps in files.
 *
 * A history is on unless `--no-history` turns it off. The folder is below the run's logs, so both go together.
 * The writer has the defaults of size and age.
 */
import { joinPath } from "../../../runtime/os/files/paths.ts";
import type { HistoryPlace } from "../../providers/local-processes.ts";
import { bytes, misused } from "./node-options.ts";
import { type OptionValues, UsageError } from "../command.ts";

const MS_OF_A_DAY = 86_400_000;

export const HISTORY_OPTIONS = {
  "no-history": { help: "keep no history of calls in files" },
  "history-size": { valueName: "BYTES", help: "of history that this machine keeps of the run (default: 512MiB)" },
  "history-days": { valueName: "DAYS", help: "for how long it is kept (default: 7)" },
} as const;

/** @returns undefined where none is wanted. @throws UsageError */
export function historyOf(values: OptionValues<typeof HISTORY_OPTIONS>, logs: string): HistoryPlace | undefined {
  const { "no-history": isOff, "history-size": size, "history-days": days } = values;
  if (isOff && (size !== undefined || days !== undefined))
    throw new UsageError(
      `Cannot run shoal start: --no-history excludes --${size === undefined ? "history-days" : "history-size"}. See \`shoal start --help\`.`,
    );
  const keptMs = days === undefined ? undefined : Number(days) * MS_OF_A_DAY;
  if (keptMs !== undefined && !(keptMs > 0)) throw misused("history-days", "takes a number above 0", days ?? "");
  if (isOff) return undefined;
  return { folder: joinPath(logs, "history"), bytesMax: bytes("history-size", size), keptMs };
}
