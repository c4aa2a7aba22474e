/**
 * A command of `shoal`: its words, options, help and action.
 *
 * Each command is a file, which `main.ts` lists. A command gets its options checked and typed, writes through a terminal object, and ends
 * in one of three ways. It returns (success), returns a number (the exit code), or throws: a `UsageError` for wrong input, an error of
 * Shoal's family for a failure.
 */
import type { Terminal } from "../../runtime/os/terminal.ts";

export interface OptionSpec {
  readonly short?: string;
  /** Name of the value in the help: `FILE`. An option without one is a flag. */
  readonly valueName?: string;
  /** The option may be given several times, each time with a value. */
  readonly isList?: true;
  /** A part of a sentence. */
  readonly help: string;
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

export type OptionValues<Specs extends OptionSpecs> = {
  readonly [Name in keyof Specs]: Specs[Name] extends { isList: true }
    ? readonly string[]
    : Specs[Name] extends { valueName: string }
      ? string | undefined
      : boolean;
};

interface Invocation<Specs extends OptionSpecs> {
  readonly options: OptionValues<Specs>;
  /** Words after the command's name. */
  readonly words: readonly string[];
  readonly terminal: Terminal;
}

export interface Command<Specs extends OptionSpecs = OptionSpecs> {
  /** The command's words: `nats install`. */
  readonly name: string;
  /** First words that may replace the name of a one-word command: `["--version"]`. */
  readonly asOptions?: readonly string[];
  /** Summary in one line, for the list of commands. */
  readonly summary: string;
  /** More text for the command's own help. */
  readonly description?: string;
  /** Names of the command's words, as in the help: `["FILE"]`. Default: none. */
  readonly words?: readonly string[];
  /** Name for any number of further words, as in the help: `KEY=VALUE`. Default: none are taken. */
  readonly moreWords?: string;
  readonly options: Specs;
  readonly run: (invocation: Invocation<Specs>) => Promise<number | void>;
}

/** Keeps the names and kinds of the options in the type, so that `run` gets them typed. */
export function defineCommand<const Specs extends OptionSpecs>(command: Command<Specs>): Command {
  return command as unknown as Command;
}

/** A wrong command line. Exit code 2; the message names the help. */
export class UsageError extends Error {}

export const EXIT = { SUCCESS: 0, FAILURE: 1, USAGE: 2 } as const;

/** Option of commands that ask a cluster of this machine. */
export const ADDRESS: { readonly short: string; readonly valueName: string; readonly help: string } = {
  short: "a",
  valueName: "HOST:PORT",
  help: "of the head, where this machine is a node of several clusters",
};
