/**
 * Looks into a worker that runs Python: a signal makes `faulthandler` write the stacks of all threads into a file.
 *
 * The handler is C and needs no lock of the interpreter, so a worker that computes is seen. A profile is a stack every few milliseconds, of
 * waiting threads, too. The text is the worker's own and is not trusted: it is bounded, and lines of another form are left out.
 */
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isInternalCode } from "../own-files.ts";
import { PYTHON_SAMPLE_EVERY_MS, PYTHON_STACK_WITHIN_MS, PYTHON_TEXT_BYTES_MAX, STACK_FRAMES_MAX } from "./limits.ts";
import type { InspectorWork, ProcessInspector, StackFrame, ThreadStack, WorkOptions } from "./process-inspector.ts";

/** The file of a worker, beside its arenas. The worker makes the file at its start. */
export class StackFile {
  readonly path: string;

  constructor(folder: string, processId: string) {
    this.path = join(folder, `stk-${processId}`);
  }

  remove(): void {
    rmSync(this.path, { force: true });
  }
}

interface PythonPorts {
  /** The file into which the worker writes. */
  readonly path: string;
  /** Sends SIGUSR1. */
  readonly signal: () => void;
}

export class PythonInspector implements ProcessInspector {
  readonly #ports: PythonPorts;

  constructor(ports: PythonPorts) {
    this.#ports = ports;
  }

  async run(work: InspectorWork, { durationMs, write }: WorkOptions): Promise<void> {
    if (work === "heap" || work === "snapshot")
      throw new Error("the heap of a Python process cannot be read from outside: call `tracemalloc` in its code");
    const text = work === "stack" ? await this.#sampled(0) : await this.#sampled(durationMs);
    const threads = threadsOf(text);
    await write(JSON.stringify(work === "stack" ? { language: "python", threads } : profileOf(threads, durationMs)));
  }

  open(): Promise<string> {
    return Promise.reject(new Error("a Python process has no inspector: call `breakpoint()` or `debugpy.listen()` in its code"));
  }

  async close(): Promise<void> {}

  /** Returns the text of the handler: one dump, or one after the other for that long. */
  async #sampled(durationMs: number): Promise<string> {
    const fd = openFile(this.#ports.path);
    try {
      ftruncateSync(fd, 0);
      const end = performance.now() + durationMs;
      do {
        this.#ports.signal();
        if (durationMs > 0) await pause(PYTHON_SAMPLE_EVERY_MS);
      } while (performance.now() < end && fstatSync(fd).size < PYTHON_TEXT_BYTES_MAX);
      const text = await settledText(fd);
      ftruncateSync(fd, 0);
      return text;
    } finally {
      closeSync(fd);
    }
  }
}

/** @throws Error with the reason for people */
function openFile(path: string): number {
  try {
    return openSync(path, "r+");
  } catch (cause) {
    throw new Error("the process has no file for its stacks: its code may have replaced faulthandler", { cause });
  }
}

/** Waits for a text that ends with a whole line and grows no more. */
async function settledText(fd: number): Promise<string> {
  const until = performance.now() + PYTHON_STACK_WITHIN_MS;
  let before = -1;
  for (;;) {
    const size = Math.min(fstatSync(fd).size, PYTHON_TEXT_BYTES_MAX);
    if (size > 0 && size === before) {
      const bytes = Buffer.alloc(size);
      return bytes.toString("utf8", 0, readSync(fd, bytes, 0, size, 0));
    }
    if (performance.now() > until)
      throw new Error(`the process wrote no stack within ${PYTHON_STACK_WITHIN_MS} ms: its code may have taken SIGUSR1`);
    before = size;
    await pause(PYTHON_SAMPLE_EVERY_MS);
  }
}

const THREAD = /^(Current thread|Thread) (0x[0-9a-f]+)(?: \[([^\]]*)\])?.*\(most recent call first\)/;
const FRAME = /^ {2}File "(.*)", line (\d+) in (.*)$/;

/** Reads dumps of `faulthandler`; a thread for each stack. */
export function threadsOf(text: string): ThreadStack[] {
  const threads: { name: string; frames: StackFrame[] }[] = [];
  for (const line of text.split("\n")) {
    const thread = THREAD.exec(line);
    if (thread !== null) {
      const [, kind, id, name] = thread;
      threads.push({ name: name ?? (kind === "Thread" ? `thread ${id}` : `thread ${id} (current)`), frames: [] });
      continue;
    }
    const [, file, number, called] = FRAME.exec(line) ?? [];
    const frames = threads.at(-1)?.frames;
    if (file !== undefined && called !== undefined && frames !== undefined && frames.length < STACK_FRAMES_MAX)
      frames.push({ function: called, file, line: Number(number), ...(isInternalCode(file) ? { isInternal: true } : {}) });
  }
  return threads;
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly scriptId: string;
    readonly url: string;
    readonly lineNumber: number;
    readonly columnNumber: number;
  };
  hitCount: number;
  readonly children: number[];
}

/** A `.cpuprofile` of stacks that were taken one after the other. Threads stand side by side below the root. */
export function profileOf(stacks: readonly ThreadStack[], durationMs: number): object {
  const nodes: ProfileNode[] = [];
  const byKey = new Map<string, ProfileNode>();
  const nodeAt = (parent: ProfileNode | undefined, { function: functionName, file: url, line }: StackFrame): ProfileNode => {
    const key = JSON.stringify([parent?.id, functionName, url, line]);
    const known = byKey.get(key);
    if (known !== undefined) return known;
    const callFrame = { functionName, scriptId: "0", url, lineNumber: line - 1, columnNumber: -1 };
    const made: ProfileNode = { id: nodes.length + 1, callFrame, hitCount: 0, children: [] };
    nodes.push(made);
    byKey.set(key, made);
    parent?.children.push(made.id);
    return made;
  };
  const root = nodeAt(undefined, { function: "(root)", file: "", line: 0 });
  const samples = stacks.map(({ name, frames }) => {
    const thread = nodeAt(root, { function: name.replace(/ \(current\)$/, ""), file: "", line: 0 });
    const leaf = frames.toReversed().reduce((parent, frame) => nodeAt(parent, frame), thread);
    leaf.hitCount += 1;
    return leaf.id;
  });
  const endTime = durationMs * 1_000;
  const step = samples.length === 0 ? 0 : endTime / samples.length;
  return { nodes, startTime: 0, endTime, samples, timeDeltas: samples.map(() => Math.round(step)) };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
