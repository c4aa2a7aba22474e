/**
 * Turns the words of a command line into an exit code: finds the command, checks its options, runs it, and words failures.
 *
 * Decides how a user sees a failure: an expected one has a message and a remedy, only a fault of Shoal itself has a stack. With `--json`
 * standard output has one JSON value even then. Knows no command by name; everything is passed in, so that tests run it without a process.
 */
import { messageOf } from "../../runtime/base/texts/describe.ts";
import { ShoalError } from "../../runtime/base/errors.ts";
import { nearNames } from "../../runtime/base/texts/near-names.ts";
import { parseWords, type Terminal } from "../../runtime/os/terminal.ts";
import { type Command, EXIT, UsageError } from "./command.ts";
import { helpOf, helpOfAll } from "./help.ts";

const HELP_OPTIONS: ReadonlySet<string> = new Set(["--help", "-h"]);

type OptionValue = string | boolean | string[] | undefined;

/** @returns the exit code */
export async function runCommandLine(args: readonly string[], commands: readonly Command[], terminal: Terminal): Promise<number> {
  try {
    const command = findCommand(args, commands);
    if (command !== undefined) return await runCommand(command, args.slice(command.name.split(" ").length), terminal);
    terminal.print(helpAskedFor(args, commands));
    return EXIT.SUCCESS;
  } catch (error) {
    return reportFailure(error, { terminal, isJson: args.includes("--json") });
  }
}

function findCommand(args: readonly string[], commands: readonly Command[]): Command | undefined {
  const asOption = commands.find(({ asOptions }) => asOptions?.includes(args[0] ?? ""));
  return asOption ?? commands.find(({ name }) => name.split(" ").every((word, index) => args[index] === word));
}

/** @throws UsageError for an unknown command */
function helpAskedFor(args: readonly string[], commands: readonly Command[]): string {
  const [first] = args;
  const isHelp = first === undefined || first === "help" || HELP_OPTIONS.has(first);
  if (!isHelp && first.startsWith("-")) {
    throw new UsageError(`Cannot run shoal: there is no option ${first} without a command. See \`shoal --help\`.`);
  }
  const words = (isHelp ? args.slice(1) : args).filter((word) => !word.startsWith("-"));
  if (words.length === 0) return helpOfAll(commands);
  const command = findCommand(words, commands);
  if (command !== undefined) return helpOf(command);
  const group = commands.filter(({ name }) => name.startsWith(`${words[0]} `));
  if (group.length > 0 && words.length === 1) return helpOfAll(commands, words[0]);
  throw unknownCommand(words.slice(0, group.length > 0 ? 2 : 1).join(" "), group.length > 0 ? group : commands);
}

function unknownCommand(wanted: string, commands: readonly Command[]): UsageError {
  const names = commands.map(({ name }) => name);
  // First words alone are near, too: `nats` for `nast`.
  const near = nearNames(wanted, [...new Set([...names, ...names.map((name) => name.split(" ")[0] as string)])]);
  return new UsageError(`Cannot run shoal: there is no command "${wanted}".${didYouMean(near)} See \`shoal --help\`.`);
}

async function runCommand(command: Command, args: readonly string[], terminal: Terminal): Promise<number> {
  const given = parseWords(args, { ...command.options, help: { short: "h" } });
  if (given.options.some(({ name }) => name === "help")) {
    terminal.print(helpOf(command));
    return EXIT.SUCCESS;
  }
  const options = Object.fromEntries(
    Object.entries(command.options).map(([name, { valueName, isList }]): [string, OptionValue] => [
      name,
      isList ? [] : valueName === undefined ? false : undefined,
    ]),
  );
  for (const { name, written, value } of given.options) {
    const spec = command.options[name];
    if (spec === undefined) throw unknownOption(command, written);
    const isFlag = spec.valueName === undefined;
    if (isFlag && value !== undefined) throw misused(command, `${written} takes no value: received ${value}`);
    if (!isFlag && (value === undefined || value === "")) throw misused(command, `${written} needs a value`);
    const known = options[name];
    if (Array.isArray(known)) known.push(value as string);
    else options[name] = isFlag ? true : value;
  }
  checkWords(command, given.words);
  // The table of options has given them their types.
  return (await command.run({ options: options as never, words: given.words, terminal })) ?? EXIT.SUCCESS;
}

function checkWords(command: Command, words: readonly string[]): void {
  const wanted = command.words ?? [];
  if (words.length > wanted.length && command.moreWords === undefined)
    throw misused(command, `"${words[wanted.length]}" is one word too many`);
  if (words.length < wanted.length) throw misused(command, `${wanted[words.length]} is missing`);
}

function unknownOption({ name, options }: Command, written: string): UsageError {
  const near = nearNames(written.replace(/^-+/, ""), [...Object.keys(options), "help"]).map((option) => `--${option}`);
  return new UsageError(`Cannot run shoal ${name}: there is no option ${written}.${didYouMean(near)} See \`shoal ${name} --help\`.`);
}

function misused({ name }: Command, problem: string): UsageError {
  return new UsageError(`Cannot run shoal ${name}: ${problem}. See \`shoal ${name} --help\`.`);
}

function didYouMean(near: readonly string[]): string {
  return near.length === 0 ? "" : ` Did you mean ${near.join(" or ")}?`;
}

function reportFailure(error: unknown, { terminal, isJson }: { terminal: Terminal; isJson: boolean }): number {
  // Our functions throw a RangeError for a value that somebody typed; a TypeError would be a fault of the command.
  const isUsage = error instanceof UsageError || error instanceof RangeError;
  const isExpected = isUsage || error instanceof ShoalError;
  const message = messageOf(error);
  const { code, reason, hint, details }: Partial<ShoalError> = error instanceof ShoalError ? error : {};
  if (isExpected) terminal.tell(`shoal: ${message}${hint === undefined ? "" : `\n  ${hint}`}`);
  else terminal.tell(`shoal: this is a fault of Shoal; please report it with these lines:\n${(error as Error | null)?.stack ?? message}`);
  if (isJson) {
    terminal.print(JSON.stringify({ error: { code: code ?? (isUsage ? "USAGE" : "INTERNAL"), message, reason, hint, details } }));
  }
  return isUsage ? EXIT.USAGE : EXIT.FAILURE;
}
