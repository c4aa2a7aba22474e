/**
 * How the repository's own tools (`npm run sim`, `soak`, `chaos`, `scale`, `conformance`, `bench`) read their command lines: `--help`, exit codes, and errors without a stack.
 *
 * Unknown options and unusable values end with exit code 2 and one line of text. A tool that finds faults ends with 1. Any other exception
 * is a defect of the tool, and keeps its stack.
 */
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";

interface Tool<Options extends ParseArgsOptionsConfig> {
  /** As it is typed: `npm run sim`. */
  readonly command: string;
  /** Text for `--help`. */
  readonly usage: string;
  readonly options: Options;
  /** Name of the words that a tool takes besides options, of which any number may be given. Default: no words. */
  readonly words?: readonly string[];
  /** Runs the tool; returns the exit code. @throws RangeError, TypeError for a value of an option, before it has begun anything */
  readonly run: (values: ToolValues<Options>, words: readonly string[]) => Promise<number> | number;
}

export type ToolValues<Options extends ParseArgsOptionsConfig> = ReturnType<typeof parseArgs<{ options: Options }>>["values"];

/** An unusable value of an option. */
export class OptionError extends Error {}

export async function runTool<const Options extends ParseArgsOptionsConfig>(tool: Tool<Options>): Promise<number> {
  const { command, usage, options, words, run } = tool;
  const args = process.argv.slice(2);
  if (args.includes("--help")) {
    process.stdout.write(usage);
    return 0;
  }
  try {
    const { values, positionals } = taken(args, { options, allowPositionals: words !== undefined });
    const wrong = positionals.find((word) => words?.includes(word) !== true);
    if (wrong !== undefined) throw new OptionError(`Cannot run ${JSON.stringify(wrong)}: there are ${words?.join(", ")}`);
    return await run(values, positionals);
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    process.stderr.write(`${error.message}\nTry ${command} -- --help\n`);
    return 2;
  }
}

/** @throws OptionError */
export function wholeNumber(option: string, text: string, range: { readonly min?: number; readonly max?: number } = {}): number {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = range;
  const value = Number(text);
  if (text.trim() !== "" && Number.isInteger(value) && value >= min && value <= max) return value;
  const needed = max === Number.MAX_SAFE_INTEGER ? `from ${min} on` : `from ${min} to ${max}`;
  throw new OptionError(`Cannot use --${option}: a whole number ${needed} is needed: received ${JSON.stringify(text)}`);
}

function taken<Options extends ParseArgsOptionsConfig>(
  args: string[],
  given: { options: Options; allowPositionals: boolean },
): { values: ToolValues<Options>; positionals: string[] } {
  try {
    return parseArgs({ args, ...given });
  } catch (error) {
    throw new OptionError((error as Error).message, { cause: error });
  }
}
