/** The texts of `--help`: for all commands, for those with a common first word, and for one. */
import type { Command, OptionSpec } from "./command.ts";

const GAP = 3;

/** @param prefix the first words: `nats` has the commands that begin with it */
export function helpOfAll(commands: readonly Command[], prefix = ""): string {
  const listed = commands.filter(({ name }) => prefix === "" || name.startsWith(`${prefix} `));
  return [
    `Usage: shoal ${prefix === "" ? "" : `${prefix} `}<command> [options]`,
    "",
    "Commands:",
    ...columns(listed.map(({ name, summary }) => [name, summary])),
    "",
    "`shoal <command> --help` tells more.",
  ].join("\n");
}

export function helpOf(command: Command): string {
  const words = (command.words ?? []).map((word) => ` ${word}`).join("");
  const more = command.moreWords === undefined ? "" : ` [${command.moreWords} ...]`;
  const options = Object.entries(command.options).map(([name, spec]) => [writtenOption(name, spec), spec.help] as const);
  return [
    `Usage: shoal ${command.name}${words}${more} [options]`,
    "",
    command.description ?? `${command.summary}.`,
    "",
    "Options:",
    ...columns([...options, ["--help, -h", "this text"]]),
  ].join("\n");
}

function writtenOption(name: string, { short, valueName }: OptionSpec): string {
  return `--${name}${short === undefined ? "" : `, -${short}`}${valueName === undefined ? "" : ` ${valueName}`}`;
}

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length)) + GAP;
  return rows.map(([left, right]) => `  ${left.padEnd(width)}${right}`);
}
