/**
 * The terminal of a command line: its output, its environment, and its arguments split into words and options.
 *
 * Secrets in the environment are read here only, and are not passed on to processes that the command starts. A reader that has gone (`shoal
 * ... | head`) ends the output without an error. Here every option only gets its name and value; the caller knows which words are valid.
 */
import { parseArgs } from "node:util";
import { takeSecrets } from "./processes/child-environment.ts";

export interface Terminal {
  /** Prints results on standard output. */
  print(text: string): void;
  /** Writes bytes to standard output as they are, and waits for a slow reader. @returns false when the reader has gone */
  write(bytes: Uint8Array): Promise<boolean>;
  /** Prints progress and failures on standard error. */
  tell(text: string): void;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly workingDirectory: string;
}

export function processTerminal(): Terminal {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") return;
      const reason = error.code === "ENOSPC" ? "the disk is full" : error.message;
      if (stream !== process.stderr) process.stderr.write(`shoal: Cannot write the output: ${reason}.\n`);
      // A command that does not know of the failure must not overwrite the exit code.
      process.on("exit", () => {
        process.exitCode = 1;
      });
    });
  }
  return {
    print: (text) => void process.stdout.write(`${text}\n`),
    write: (bytes) => new Promise((resolve) => process.stdout.write(bytes, (error) => resolve(error == null))),
    tell: (text) => void process.stderr.write(`${text}\n`),
    environment: takeSecrets(),
    workingDirectory: process.cwd(),
  };
}

interface GivenOption {
  /** Without dashes. */
  readonly name: string;
  /** As it was written. */
  readonly written: string;
  readonly value: string | undefined;
}

interface GivenWords {
  readonly options: readonly GivenOption[];
  readonly words: readonly string[];
}

/** @param options by name; one with a name for its value takes the next word, and `short` is its one-letter name */
export function parseWords(
  args: readonly string[],
  options: Readonly<Record<string, { readonly valueName?: string; readonly short?: string }>>,
): GivenWords {
  const known = Object.entries(options).map(([name, { valueName, short }]) => [
    name,
    { type: valueName === undefined ? ("boolean" as const) : ("string" as const), ...(short !== undefined && { short }) },
  ]);
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(known),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const found: GivenOption[] = [];
  const words: string[] = [];
  for (const token of tokens) {
    if (token.kind === "option") found.push({ name: token.name, written: token.rawName, value: token.value });
    if (token.kind === "positional") words.push(token.value);
  }
  return { options: found, words };
}
