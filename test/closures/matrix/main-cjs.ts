/** The matrix as a CommonJS program. */
import { run } from "./run.ts";
import { report, works } from "./cases.ts";
import "./values.ts";
import "./functions.ts";
import "./classes.ts";
import "./class-members.ts";
import "./imports.ts";
import "./refusals.ts";
import "./nesting.ts";
import "./typescript-only.ts";

const startedIn = process.pid;

export class MainClass {
  where(): boolean {
    return process.pid !== startedIn;
  }
}

export function mainFunction(value: number): number {
  return value + 1;
}

works(
  "exports of the main file go by value: the program does not run again",
  async () => [await run(() => new MainClass().where()), await run(mainFunction, 1)],
  [true, 2],
);
works(
  "__filename, __dirname and require are the file's",
  () => run(() => [__filename.split("/").at(-1)?.split(".")[0], typeof __dirname, require("./lib/legacy.cjs").double(2)]),
  ["main-cjs", "string", 4],
);

export const finished: Promise<void> = report();
