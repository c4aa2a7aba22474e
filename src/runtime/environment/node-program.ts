/**
 * Checks the Node that an environment names for its workers: that it exists, is Node, and is new enough.
 *
 * Called by `build.ts`, in the process that builds the environment, before any worker is started: its error names the program and the remedy, where workers that die at
 * their start would only say how.
 */
import { messageOf } from "../base/texts/describe.ts";
import { programOutput } from "../os/processes/programs/program-output.ts";
import { isVersionFrom, NODE_MIN } from "../os/engine/supported-runtime.ts";

/**
 * @returns The same path.
 * @throws Error with the fault and the remedy
 */
export async function checkedNode(program: string): Promise<string> {
  const version = await versionOf(program);
  if (isVersionFrom(version, NODE_MIN)) return program;
  throw new Error(`execPath is Node ${version} (${program}): version ${NODE_MIN.join(".")} or later is needed`);
}

async function versionOf(program: string): Promise<string> {
  let output: string;
  try {
    output = await programOutput(program, ["-p", "JSON.stringify(process.versions)"]);
  } catch (error) {
    const reason = messageOf(error);
    throw new Error(`execPath cannot be run on this machine: ${reason}. Install Node there, or name its path on each node`, {
      cause: error,
    });
  }
  try {
    const { node } = JSON.parse(output) as { node: string };
    if (typeof node === "string") return node;
  } catch {
    // The program printed something else.
  }
  throw new Error(`execPath is no Node: ${program} does not tell its version as Node does`);
}
