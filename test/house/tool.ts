/**
 * Runs one of the repository's command-line tools and gives back its verdict, so that a test can hold it.
 */
import { join } from "node:path";
import { runProgram } from "./run-program.ts";
import { REPOSITORY } from "./source-files.ts";

/** Some take ten seconds alone, and share the machine with whatever else it does. */
const TOOL_MS = 170_000;

interface ToolRun {
  exitCode: number | null;
  /** Both streams, what went to standard error last. */
  output: string;
}

/** `script` is relative to node_modules; the tool runs under the Node of the test. */
export async function runTool(script: string, args: readonly string[], cwd: string = REPOSITORY): Promise<ToolRun> {
  const { exitCode, stdout, stderr } = await runProgram([join(REPOSITORY, "node_modules", script), ...args], {
    cwd,
    env: { FORCE_COLOR: "0" },
    timeoutMs: TOOL_MS,
  });
  return { exitCode, output: stdout + stderr };
}
