/**
 * Has the ranks upload the checkpoints of a report by functions of their loops, beside the loops: afterwards these checkpoints lie in their places.
 *
 * `training-run.ts` calls it before it records a report, so uploads of two reports never overlap, and those of a report that does not count never begin. An upload that goes on for longer
 * than `reportTimeoutMs` counts as hung: its process answers pings, and the loops wait for it, so nothing else would find it. The first failure ends the wait.
 */
import { asError } from "../../core/internal.ts";
import { ranksText } from "./arrivals.ts";
import type { RankFailure } from "./rank-failure.ts";
import type { RankReport } from "./rank-protocol.ts";
import { lostRank, type WorkerGroup } from "../group/worker-group.ts";

interface UploadLimits {
  /** Undefined is without limit. */
  readonly reportTimeoutMs: number | undefined;
  /** Between two warnings that say whose uploads go on. */
  readonly collectiveWarnIntervalMs: number;
  readonly warn: (text: string) => void;
}

export async function placedByRanks(
  group: Pick<WorkerGroup, "uploaded">,
  reports: readonly RankReport[],
  { reportTimeoutMs, collectiveWarnIntervalMs, warn }: UploadLimits,
): Promise<{ readonly reports: readonly RankReport[] } | { readonly failure: RankFailure }> {
  const pending = new Set([...reports.keys()].filter((rank) => typeof reports[rank]?.checkpoint?.upload === "number"));
  if (pending.size === 0) return { reports };
  let failure: RankFailure | undefined;
  const placed = reports.map(async (report, rank): Promise<RankReport> => {
    const { checkpoint } = report;
    if (checkpoint === null || !pending.has(rank)) return report;
    try {
      const path = await group.uploaded(rank, checkpoint.upload as number);
      pending.delete(rank);
      return { ...report, uploadMode: "none", checkpoint: { ...checkpoint, path } };
    } catch (error) {
      failure ??= lostRank(rank, asError(error));
      throw error;
    }
  });
  const late = Promise.withResolvers<never>();
  const timeIsUp = (): void => {
    const [rank] = pending;
    const error = new Error(`checkpoint_upload_fn of rank ${rank} has not ended after ${reportTimeoutMs} ms (reportTimeoutMs)`);
    failure ??= { rank, cause: "hung", error };
    late.reject(error);
  };
  const limit = reportTimeoutMs === undefined ? undefined : setTimeout(timeIsUp, reportTimeoutMs);
  let warnings = 0;
  const warnAgain = (): void => {
    warnings += 1;
    warn(
      `checkpoint_upload_fn of ${ranksText([...pending])} goes on for ${(warnings * collectiveWarnIntervalMs) / 1000} s: the run waits for it`,
    );
  };
  const warning = setInterval(warnAgain, collectiveWarnIntervalMs);
  try {
    return { reports: await Promise.race([Promise.all(placed), late.promise]) };
  } catch {
    return { failure: failure as RankFailure };
  } finally {
    clearTimeout(limit);
    clearInterval(warning);
  }
}
