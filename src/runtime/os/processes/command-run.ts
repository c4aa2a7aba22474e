/**
 * Runs a program to its end, with a limit on its time and on the output that is kept: for programs of the system such as `ssh` and `sbatch`.
 *
 * The program gets no shell. Its input is a text, or the output of another program that runs beside it. Of the output the last part is kept.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { OUTPUT_CHARACTERS_MAX } from "../limits.ts";
import { childEnvironment } from "./child-environment.ts";

export interface CommandRun {
  /** Undefined where it did not start, was killed, or was not over in time. */
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** Why there is no exit code; undefined where there is one. */
  readonly problem: string | undefined;
}

interface CommandOptions {
  readonly input?: string | undefined;
  /** A program whose output is the input; its failure is a failure of the whole. */
  readonly from?: { readonly program: string; readonly args: readonly string[] } | undefined;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Never rejects. */
export async function runCommand(
  program: string,
  args: readonly string[],
  { input = "", from, timeoutMs, signal }: CommandOptions,
): Promise<CommandRun> {
  const env = childEnvironment();
  const main = spawn(program, args, { stdio: "pipe", windowsHide: true, env });
  const source =
    from === undefined ? undefined : spawn(from.program, from.args, { stdio: ["ignore", "pipe", "pipe"], windowsHide: true, env });
  let reason: string | undefined;
  const kill = (why: string): void => {
    reason ??= why;
    for (const child of [main, source]) child?.kill("SIGKILL");
  };
  const timer = setTimeout(() => kill(`it was not over within ${timeoutMs / 1000} s`), timeoutMs);
  const onAbort = (): void => kill("it was broken off");
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  // A program that has ended reads no more.
  main.stdin.on("error", () => {});
  if (source === undefined) main.stdin.end(input);
  else source.stdout?.pipe(main.stdin);
  try {
    const [ended, other] = await Promise.all([endOf(main), source === undefined ? undefined : endOf(source)]);
    const failed = other === undefined || other.exitCode === 0 ? ended : other;
    return reason === undefined ? failed : { ...failed, exitCode: undefined, problem: reason };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

function endOf(child: ChildProcess): Promise<CommandRun> {
  const kept = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name]?.setEncoding("utf8").on("data", (text: string) => {
      kept[name] = (kept[name] + text).slice(-OUTPUT_CHARACTERS_MAX);
    });
  return new Promise((resolve) => {
    child.once("error", (error) => resolve({ ...kept, exitCode: undefined, problem: error.message }));
    child.once("close", (code, signal) =>
      resolve({ ...kept, exitCode: code ?? undefined, problem: code === null ? `it was ended by ${signal}` : undefined }),
    );
  });
}
