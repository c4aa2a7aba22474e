/**
 * Marks the output of a worker with the task or actor that wrote it, and with the id of the task.
 *
 * The mark goes in front of a line when its source differs from the last one's, in the same stream, so that lines and marks never part; the node
 * daemon takes it off (runtime/node/workers/worker-pool.ts). Output of native code and of child processes comes without and keeps the last source.
 */
import { enterLibrary, leaveLibrary } from "../base/library-code.ts";
import type { JobId } from "../base/ids.ts";
import { taskContext } from "./tasks/task-context.ts";

const BEGIN = "\u001e";
const ID = "\u001d";
const END = "\u001f";

interface WritableLike {
  write: (chunk: unknown, ...rest: unknown[]) => boolean;
}

export function markOutput(stream: WritableLike, job: JobId, defaultSource: () => string): void {
  const write = stream.write.bind(stream);
  let last = "";
  let lastCall = { taskIdPrefix: "", callId: 0 };
  let atLineStart = true;
  const mark = (): void => {
    const context = taskContext.current;
    if (context?.callId === lastCall.callId && context.taskIdPrefix === lastCall.taskIdPrefix) return;
    const source = context === undefined ? defaultSource() : context.name + ID + context.taskId(job);
    if (source !== last) write(BEGIN + source + END);
    last = source;
    // The context itself would keep the call's values alive.
    lastCall = { taskIdPrefix: context?.taskIdPrefix ?? "", callId: context?.callId ?? 0 };
  };
  stream.write = (chunk, ...rest) => {
    // A stream that is stopped half way stays so.
    const isOutermost = enterLibrary();
    try {
      return marked(chunk, rest);
    } finally {
      leaveLibrary(isOutermost);
    }
  };
  const marked = (chunk: unknown, rest: readonly unknown[]): boolean => {
    if (atLineStart) mark();
    const length = typeof chunk === "string" || chunk instanceof Uint8Array ? chunk.length : 0;
    if (length > 0) atLineStart = typeof chunk === "string" ? chunk.endsWith("\n") : (chunk as Uint8Array)[length - 1] === 0x0a;
    return write(chunk, ...rest);
  };
}
