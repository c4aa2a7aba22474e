/**
 * Starting and ending Shoal in a program: `init`, `shutdown`, and the start that the first call makes where there was no `init`.
 *
 * Decides that there is one session a process at a time, and that inside a task all of this is the worker's business: `init` there is a no-op.
 */
import { markByValueFile, prepareCapture } from "../../runtime/closure/capture.ts";
import { callerFiles } from "../../runtime/os/caller-files.ts";
import { currentRuntime, setAutoStart } from "../current-runtime.ts";
import { resolveInitOptions } from "../options/options.ts";
import { currentSession, Session } from "./session.ts";
import type { InitOptions } from "../types/types.ts";

/** The result of `init`: facts of the session, and its end as `await using`. */
export interface ShoalContext extends AsyncDisposable {
  readonly nodeId: string;
  readonly jobId: string;
  readonly namespace: string;
}

/**
 * Starts Shoal on this machine. Optional: the first remote call does it with defaults.
 *
 * @throws TypeError when it runs already (unless `ignoreReinitError`), or for an unknown option
 * @throws ShoalError when the node could not be started
 * @example
 * await using cluster = await init({ numCpus: 4 });
 */
export async function init(options: InitOptions = {}): Promise<ShoalContext> {
  const resolved = resolveInitOptions(options);
  const runtime = currentRuntime();
  if (runtime?.options.role === "worker") return contextOf();
  // A session that is ending is not in the way: nobody awaited its shutdown, or its daemon was killed.
  await currentSession()?.ending;
  const running = currentSession();
  if (running !== undefined) {
    if (!resolved.ignoreReinitError)
      throw new TypeError("Cannot start Shoal: it runs already in this process: call shutdown() first, or pass ignoreReinitError: true");
    await running.ready();
    return contextOf();
  }
  // The files that lead here are programs, not modules: a worker must not run them again to get at a function.
  for (const file of callerFiles(init)) markByValueFile(file);
  const session = new Session(resolved);
  // The first look at a program costs some 60 ms, which the node needs for its start anyway.
  if (resolved.mode === "process") prepareCapture();
  await session.ready();
  return contextOf();
}

/**
 * Ends Shoal in this process: pending calls fail, workers end, nothing of it is left. Does nothing where it does not run.
 */
export async function shutdown(): Promise<void> {
  await currentSession()?.close();
}

/** Whether Shoal runs in this process: after `init` or the first remote call, and in every worker. */
export function isInitialized(): boolean {
  return currentRuntime() !== undefined;
}

function contextOf(): ShoalContext {
  const runtime = currentRuntime();
  const options = runtime?.options;
  return {
    nodeId: options?.nodeId ?? "",
    jobId: options?.jobId ?? "",
    namespace: options?.namespace ?? "",
    [Symbol.asyncDispose]: shutdown,
  };
}

setAutoStart(() => {
  const session = new Session(resolveInitOptions({}));
  return session.runtime;
});
