/**
 * Reads the options of `shoal start` about machines that go away: where a notice comes from, and the grace of SIGTERM.
 */
import { resolvePath } from "../../../runtime/os/files/paths.ts";
import { TERMINATION_GRACE_MAX_MS } from "../../supervisor/preemption/limits.ts";
import { noticeSource } from "../../supervisor/preemption/notice-source.ts";
import type { SupervisorConfiguration } from "../../supervisor/supervisor-process.ts";
import type { OptionSpecs, OptionValues } from "../command.ts";
import { misused } from "./node-options.ts";

export const PREEMPTION_OPTIONS = {
  "preemption-notice": {
    valueName: "SOURCE",
    help: "drain the node when this machine is about to go: aws, gcp, azure, a URL, or file:PATH; see docs/cluster.md",
  },
  "termination-grace-ms": {
    valueName: "MS",
    help: "on SIGTERM drain the node, and end after this time at the latest (default: end at once)",
  },
} as const satisfies OptionSpecs;

/** @throws UsageError */
export function preemptionOf(values: OptionValues<typeof PREEMPTION_OPTIONS>): SupervisorConfiguration["preemption"] {
  return {
    notice: noticeOf(values["preemption-notice"]),
    terminationGraceMs: graceOf(values["termination-grace-ms"]),
  };
}

/** A supervisor works in another folder than the command. */
function noticeOf(given: string | undefined): string | undefined {
  if (given === undefined) return undefined;
  const [, path] = /^file:(.+)$/s.exec(given) ?? [];
  const text = path === undefined ? given : `file:${resolvePath(path)}`;
  try {
    noticeSource(text);
  } catch (error) {
    throw misused("preemption-notice", (error as Error).message.replace(/: received .*$/s, ""), given);
  }
  return text;
}

function graceOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d{1,9}$/.test(text) && value <= TERMINATION_GRACE_MAX_MS) return value;
  throw misused("termination-grace-ms", `takes whole milliseconds up to ${TERMINATION_GRACE_MAX_MS}`, text);
}
