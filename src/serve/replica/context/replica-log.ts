/**
 * Prints a replica's lines according to its deployment's `loggingConfig`: levels, text or JSON, and a line for each request.
 *
 * Replaces `console`'s methods in the replica's process, so users' code and its libraries need no special logger. Lines go where all workers' output goes.
 */
import { format } from "node:util";
import { currentRequest } from "./request-context.ts";

export interface LoggingConfig {
  /** Default: "TEXT". "JSON": a line is an object with its time, level, message, replica and request. */
  readonly encoding: "TEXT" | "JSON";
  /** The least level that is printed. Default: "DEBUG", which prints all. */
  readonly level: "DEBUG" | "INFO" | "WARNING" | "ERROR";
  /** Print a line for each request and call. Default: false. */
  readonly accessLog: boolean;
}

interface Place {
  readonly appName: string;
  readonly deployment: string;
  readonly replicaId: string;
}

const LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR"] as const;
type Level = (typeof LEVELS)[number];
const METHODS: Readonly<Record<"debug" | "info" | "log" | "warn" | "error", Level>> = {
  debug: "DEBUG",
  info: "INFO",
  log: "INFO",
  warn: "WARNING",
  error: "ERROR",
};

/** From now on the console prints as `config` says. */
export function useReplicaLog({ encoding, level }: LoggingConfig, place: Place): void {
  const lowest = LEVELS.indexOf(level);
  for (const [name, own] of Object.entries(METHODS) as ["log", Level][]) {
    const print = console[name].bind(console);
    console[name] = (...parts: unknown[]): void => {
      if (LEVELS.indexOf(own) < lowest) return;
      if (encoding === "TEXT") print(...parts);
      else print(lineOf(own, format(...parts), place));
    };
  }
}

/** Writes a line of JSON with Ray's names, so that readers of Ray's lines can read it. */
export function lineOf(level: string, message: string, { appName, deployment, replicaId }: Place): string {
  const requestId = currentRequest()?.requestId;
  return JSON.stringify({
    asctime: new Date().toISOString(),
    levelname: level,
    message,
    application: appName,
    deployment,
    replica: replicaId,
    ...(requestId !== undefined && requestId !== "" && { request_id: requestId }),
  });
}

/** The message of the line for one request or call. */
export function accessLine({
  what,
  requestId,
  isFailed,
  durationMs,
}: {
  what: string;
  requestId: string;
  isFailed: boolean;
  durationMs: number;
}): string {
  return `${what} ${isFailed ? "ERROR" : "OK"} ${durationMs.toFixed(1)}ms${requestId === "" ? "" : ` ${requestId}`}`;
}
