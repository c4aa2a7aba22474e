/**
 * Finds the figures that cannot run on this machine because a program is not installed, and says how to install it.
 *
 * The benchmark asks before it measures: a figure without its program would start a server, load it for a while and then fail.
 */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { Figure } from "./figure.ts";

const HOW_TO_GET: Readonly<Record<NonNullable<Figure["program"]>, string>> = { wrk: "apt-get install wrk" };

interface RunnableFigures {
  readonly runnable: Figure[];
  /** A line for each missing program, with the figures that need the program. */
  readonly missing: string[];
}

/** @param path the folders of programs, as in PATH */
export function runnableFigures(figures: readonly Figure[], path: string): RunnableFigures {
  const isThere = ({ program }: Figure): boolean => program === undefined || isInstalled(program, path);
  const without = Map.groupBy(
    figures.filter((figure) => !isThere(figure)),
    ({ program }) => program,
  );
  const missing = Array.from(without, ([program, needing]) => {
    const names = needing.map(({ name }) => name).join(", ");
    return `Cannot run ${names}: ${program} is not installed: ${program === undefined ? "" : HOW_TO_GET[program]}`;
  });
  return { runnable: figures.filter(isThere), missing };
}

function isInstalled(program: string, path: string): boolean {
  return path.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
