/**
 * Explains to the parent why a process of ours could not start, in place of the message that it has begun.
 *
 * An expected failure, such as a port that is taken or a head that refuses, is reported by its message and remedy; otherwise the parent
 * would see an exit code and a stack.
 */
import { ShoalError } from "../../base/errors.ts";
import { folderError } from "../files/folders/folder-error.ts";

interface StartFailure {
  readonly code: string;
  readonly message: string;
  readonly reason: string | undefined;
  readonly hint: string | undefined;
}

const MARK = "failed ";

/** Reports an uncaught exception to the parent and ends the process, until the returned function has reported the start. */
export function tellingStartFailures(send: (line: string, onWritten?: () => void) => void): (line: string) => void {
  const fail = (error: unknown): void => send(failureLine(error), () => process.exit(1));
  process.on("uncaughtException", fail);
  return (line) => {
    process.off("uncaughtException", fail);
    send(line);
  };
}

/** Tells the parent that the process was ended before it had begun, and ends it. @param waitedFor the end of a sentence */
export function tellEndedTooSoon(send: (line: string, onWritten?: () => void) => void, what: string, waitedFor: string): void {
  const error = new ShoalError(`Cannot start ${what}: it was ended while it waited for ${waitedFor}.`, {
    reason: `it waited for ${waitedFor}`,
  });
  send(failureLine(error), () => process.exit(1));
}

export function failureLine(error: unknown): string {
  return MARK + JSON.stringify(failureOf(error));
}

/** Undefined for any other line. */
export function readFailureLine(line: string): StartFailure | undefined {
  return line.startsWith(MARK) ? (JSON.parse(line.slice(MARK.length)) as StartFailure) : undefined;
}

/** Returns the error for the parent from a received failure. */
export function startFailedError({ code, message, reason, hint }: StartFailure): ShoalError {
  const error = new ShoalError(message, { reason, hint });
  // The class stays behind in the other process; by its code it is known here, too.
  (error as { code: string }).code = code;
  return error;
}

function failureOf(error: unknown): StartFailure {
  if (error instanceof ShoalError) return { code: error.code, message: error.message, reason: error.reason, hint: error.hint };
  const ofFolder = folderError(error);
  if (ofFolder !== undefined) return failureOf(ofFolder);
  const { code, syscall, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (syscall === "listen" || syscall === "bind" || syscall === "getaddrinfo") return listenFailure(code ?? "", `${address}:${port}`);
  const message = error instanceof RangeError ? error.message : ((error as Error | undefined)?.stack ?? String(error));
  return { code: "SHOAL_ERROR", message, reason: (error as Error | undefined)?.message ?? message, hint: undefined };
}

function listenFailure(code: string, where: string): StartFailure {
  const [reason, hint] = LISTEN_FAILURES[code] ?? [
    `the system says ${code}`,
    "Choose another address with --host, or another port with --port.",
  ];
  return { code: "SHOAL_ERROR", message: `Cannot listen at ${where}: ${reason}.`, reason, hint };
}

const LISTEN_FAILURES: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  EADDRINUSE: [
    "the port is taken",
    "Another head may run there: `shoal status` shows those of this user, `shoal stop` ends them. Or choose another port with --port.",
  ],
  EADDRNOTAVAIL: ["it is not an address of this machine", "Give --host an address of this machine (`ip addr` or `ifconfig` lists them)."],
  EACCES: ["this user may not listen at that port", "Choose a port above 1023 with --port."],
  ENOTFOUND: ["no such host is known", "Give --host an address of this machine."],
};
