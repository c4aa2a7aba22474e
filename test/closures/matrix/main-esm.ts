/** The matrix as an ES module program: the main file, so its exports go by value. */
import { createRequire } from "node:module";
import { run } from "./run.ts";
import { report, works } from "./cases.ts";
import "./values.ts";
import "./functions.ts";
import "./classes.ts";
import "./class-members.ts";
import "./imports.ts";
import "./refusals.ts";
import "./nesting.ts";

const require = createRequire(import.meta.url);
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
  "import.meta is the file's",
  () => run(() => [import.meta.url.split("/").at(-1)?.split(".")[0], import.meta.filename === undefined]),
  [import.meta.url.split("/").at(-1)?.split(".")[0], false],
);
works("a require made by createRequire", () => run(() => require("./lib/legacy.cjs").double(2)), 4);

// Syntax that plain type stripping refuses.
if (process.env.SHOAL_MATRIX_COMPILED === "1") await import("./typescript-only.ts");
await report();
