/**
 * Explains why a nats-server does not start or ended, from its last lines: the known causes, each with a remedy.
 *
 * Pure text. Decides which lines mean a full disk while the server runs on without storage: JetStream turns itself off then, and returns
 * only with a new start. Called by `nats-process.ts`.
 */
import { ShoalError } from "../../base/errors.ts";
import { FREE_BYTES_MIN } from "./limits.ts";

/** The NATS server of a head could not be started. `reason` names the cause: "port taken", "disk full", "data directory of another cluster"... */
export class NatsServerFailedError extends ShoalError {
  static override readonly code = "NATS_SERVER_FAILED";
}

interface NatsServerFacts {
  readonly folder: string;
  readonly logFile: string;
  readonly host: string;
  readonly port: number;
}

interface Cause {
  readonly reason: string;
  readonly text: string;
  readonly hint: string;
}

const LAST_LINES = 12;

export function isOutOfDisk(line: string): boolean {
  return /JetStream out of .*resources|no space left on device/.test(line);
}

/** @param ended how the process ended, as the end of a sentence */
export function natsServerFailure(lines: readonly string[], ended: string, facts: NatsServerFacts): NatsServerFailedError {
  const { reason, text, hint } = causeOf(lines, facts) ?? {
    reason: "ended",
    text: ended,
    hint: `Its log is ${facts.logFile}.`,
  };
  return new NatsServerFailedError(`Cannot run a NATS server: ${text}.`, { reason, hint, lastOutput: lines.slice(-LAST_LINES) });
}

export function fullDiskText(folder: string, freeBytes: number): string {
  const megabytes = (bytes: number): string => (bytes / 1024 / 1024).toFixed(0);
  return `the disk of ${folder} is full: ${megabytes(freeBytes)} MB are free and ${megabytes(FREE_BYTES_MIN)} MB are needed`;
}

export function diskFull(folder: string, freeBytes: number): NatsServerFailedError {
  return new NatsServerFailedError(`Cannot run a NATS server: ${fullDiskText(folder, freeBytes)}.`, {
    reason: "disk full",
    hint: "Make room on that disk, or choose a folder on another one.",
    details: { folder, freeBytes },
  });
}

function causeOf(lines: readonly string[], { folder, host, port }: NatsServerFacts): Cause | undefined {
  const text = lines.join("\n");
  const taken = /listen(?:ing on port)?.*?([\d.]+|\[[\da-f:]+\]):(\d+).*address already in use/.exec(text);
  if (taken !== null) {
    const [, where = host, number = String(port)] = taken;
    return {
      reason: "port taken",
      text: `the port ${number} of ${where} is taken by another program`,
      hint: "End that program (`ss -ltnp` or `lsof -i` names it), choose another port, or 0 for a free one.",
    };
  }
  if (/cannot assign requested address/.test(text)) {
    return {
      reason: "no such address",
      text: `this machine has no address ${host}`,
      hint: "Give an address of this machine (`ip addr` or `ifconfig` lists them).",
    };
  }
  if (/permission denied/.test(text)) {
    return {
      reason: "permission denied",
      text: /listen/.test(text) ? `this user may not listen on port ${port}` : `this user may not write in ${folder}`,
      hint: "Choose a port above 1023 and a folder of this user.",
    };
  }
  if (lines.some(isOutOfDisk)) {
    return {
      reason: "disk full",
      text: `the disk of ${folder} is full`,
      hint: "Make room on that disk, or choose a folder on another one.",
    };
  }
  return undefined;
}
