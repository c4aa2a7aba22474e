/**
 * Returns a program's output to a short question, such as its version. Called if an environment names a program of the user's.
 */
import { execFile } from "node:child_process";
import { PROGRAM_ANSWERS_WITHIN_MS } from "../../limits.ts";

const OUTPUT_BYTES_MAX = 65_536;

/** @throws Error with the output, when it does not run, fails, or does not end in time */
export function programOutput(program: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      program,
      args,
      { timeout: PROGRAM_ANSWERS_WITHIN_MS, killSignal: "SIGKILL", maxBuffer: OUTPUT_BYTES_MAX },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else if (error.killed === true) reject(new Error(`${program} did not end within ${PROGRAM_ANSWERS_WITHIN_MS} ms`));
        else reject(new Error(stderr.trim() === "" ? error.message : `${program}: ${stderr.trim()}`));
      },
    );
  });
}
