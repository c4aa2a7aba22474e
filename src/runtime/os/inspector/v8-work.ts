/**
 * Stacks and profiles of a process of V8, by its inspector.
 *
 * A stack is taken where the code stops at its next statement, so a loop without end has one, too. A process that waits for events has no
 * next statement, and its stack is empty. Results are the files that Chrome and Visual Studio Code open.
 */
import { isInternalCode } from "../own-files.ts";
import type { InspectorSession } from "./inspector-session.ts";
import {
  HEAP_SAMPLE_BYTES,
  PAUSES_WITHIN_MS,
  RESULT_UNWRITTEN_BYTES_MAX,
  SAMPLE_EVERY_US,
  SNAPSHOT_BEGINS_WITHIN_MS,
  SNAPSHOT_WITHIN_MS,
  STACK_FRAMES_MAX,
} from "./limits.ts";
import type { InspectorWork, ProcessStack, StackFrame, WorkOptions } from "./process-inspector.ts";

/** @throws Error when V8 refuses or does not answer */
export async function runInV8(session: InspectorSession, work: InspectorWork, options: WorkOptions): Promise<void> {
  switch (work) {
    case "stack":
      return await options.write(JSON.stringify(await stackOf(session)));
    case "cpu":
      return await options.write(await cpuProfile(session, options.durationMs));
    case "heap":
      return await options.write(await heapProfile(session, options.durationMs));
    case "snapshot":
      return await heapSnapshot(session, options.write);
  }
}

async function stackOf(session: InspectorSession): Promise<ProcessStack> {
  const scripts = new Map<unknown, string>();
  session.on("Debugger.scriptParsed", ({ scriptId, url }) => scripts.set(scriptId, String(url)));
  const paused = new Promise<readonly V8Frame[]>((resolve) => {
    session.on("Debugger.paused", ({ callFrames }) => resolve(Array.isArray(callFrames) ? callFrames : []));
  });
  await session.call("Debugger.enable");
  await session.call("Debugger.pause");
  const frames = await Promise.race([paused, pause(PAUSES_WITHIN_MS)]);
  // Lets the code go on, too.
  await session.call("Debugger.disable");
  return { language: "javascript", threads: [{ name: "main", frames: (frames ?? []).slice(0, STACK_FRAMES_MAX).map(frameOf(scripts)) }] };
}

interface V8Frame {
  readonly functionName?: string;
  readonly url?: string;
  readonly location?: { readonly scriptId?: string; readonly lineNumber?: number };
}

/** V8 counts lines from 0. */
function frameOf(scripts: ReadonlyMap<unknown, string>): (frame: V8Frame) => StackFrame {
  return ({ functionName = "", url = "", location }) => {
    const file = url === "" ? (scripts.get(location?.scriptId) ?? "") : url;
    return {
      function: functionName === "" ? "(anonymous)" : functionName,
      file,
      line: (location?.lineNumber ?? 0) + 1,
      ...(isInternalCode(file) ? { isInternal: true } : {}),
    };
  };
}

async function cpuProfile(session: InspectorSession, durationMs: number): Promise<string> {
  await session.call("Profiler.enable");
  await session.call("Profiler.setSamplingInterval", { interval: SAMPLE_EVERY_US });
  const isStepped = await stepOnce(session);
  await session.call("Profiler.start");
  if (isStepped) await session.call("Debugger.disable");
  await pause(durationMs);
  const { profile } = await session.call("Profiler.stop");
  await session.call("Profiler.disable");
  return JSON.stringify(profile);
}

/**
 * Makes the code that runs now take one step, so that V8 compiles it again. Code that was optimized before the profile shows a function's
 * time at its caller, and a loop without end would never show.
 *
 * @returns whether the code stands still
 */
async function stepOnce(session: InspectorSession): Promise<boolean> {
  const paused = (): Promise<true> => new Promise((resolve) => session.on("Debugger.paused", () => resolve(true)));
  let isPaused = paused();
  await session.call("Debugger.enable");
  await session.call("Debugger.pause");
  if ((await Promise.race([isPaused, pause(PAUSES_WITHIN_MS)])) !== true) {
    await session.call("Debugger.disable");
    return false;
  }
  isPaused = paused();
  await session.call("Debugger.stepOver");
  await Promise.race([isPaused, pause(PAUSES_WITHIN_MS)]);
  return true;
}

async function heapProfile(session: InspectorSession, durationMs: number): Promise<string> {
  // Without the flags, a profile has only objects that live at its end.
  const all = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
  await session.call("HeapProfiler.startSampling", { samplingInterval: HEAP_SAMPLE_BYTES, ...all });
  await pause(durationMs);
  const { profile } = await session.call("HeapProfiler.stopSampling");
  return JSON.stringify(profile);
}

/**
 * A snapshot comes in pieces, and is never whole in this process. V8 makes one between two events alone, so code that computes without end
 * has none.
 */
async function heapSnapshot(session: InspectorSession, write: WorkOptions["write"]): Promise<void> {
  const begun = Promise.withResolvers<void>();
  session.on("HeapProfiler.reportHeapSnapshotProgress", () => begun.resolve());
  const notBegun = setTimeout(
    () =>
      begun.reject(
        new Error(`the process computes, and writes its heap only between two events: it had none within ${SNAPSHOT_BEGINS_WITHIN_MS} ms`),
      ),
    SNAPSHOT_BEGINS_WITHIN_MS,
  );
  let unwritten = 0;
  let failure: Error | undefined;
  let written = Promise.resolve();
  session.on("HeapProfiler.addHeapSnapshotChunk", ({ chunk }) => {
    const text = String(chunk);
    unwritten += text.length;
    if (unwritten > RESULT_UNWRITTEN_BYTES_MAX) session.pause();
    written = written
      .then(() => (failure === undefined ? write(text) : undefined))
      .catch((error: Error) => {
        failure = error;
      })
      .then(() => {
        unwritten -= text.length;
        if (unwritten <= RESULT_UNWRITTEN_BYTES_MAX) session.resume();
      });
  });
  const made = session.call("HeapProfiler.takeHeapSnapshot", { reportProgress: true }, SNAPSHOT_WITHIN_MS);
  made.then(() => begun.resolve(), begun.reject);
  try {
    await begun.promise;
  } finally {
    clearTimeout(notBegun);
  }
  await made;
  await written;
  if (failure !== undefined) throw failure;
}

function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, ms, undefined));
}
