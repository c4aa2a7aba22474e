/** The files on the stack above a function: the programs that called it. */
import { fileURLToPath } from "node:url";

export function callerFiles(above: (...args: never[]) => unknown): string[] {
  const holder: { stack?: string } = {};
  const prepare = Error.prepareStackTrace;
  const limit = Error.stackTraceLimit;
  let files: string[] = [];
  try {
    Error.stackTraceLimit = 50;
    Error.prepareStackTrace = (_error, frames) => frames.map((frame) => frame.getFileName() ?? "");
    Error.captureStackTrace(holder, above);
    files = holder.stack as unknown as string[];
  } finally {
    Error.prepareStackTrace = prepare;
    Error.stackTraceLimit = limit;
  }
  const found = new Set<string>();
  for (const file of Array.isArray(files) ? files : []) {
    if (file.startsWith("file:")) found.add(fileURLToPath(file));
    else if (file.startsWith("/") && !file.includes("/node_modules/")) found.add(file);
  }
  return Array.from(found);
}
