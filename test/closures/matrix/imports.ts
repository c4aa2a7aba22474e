/** What a function imports is imported again where it runs, from the same place. */
import { EventEmitter } from "node:events";
import fs from "node:fs";
import * as path from "node:path";
import { parse } from "acorn";
import { run } from "./run.ts";
import { works } from "./cases.ts";
import Greeter, { addSeven, change, changing, Exported, makeAdder, operations, seven } from "./lib/dependency.ts";
import * as dependency from "./lib/dependency.ts";
import legacy from "./lib/legacy.cjs";

works("Node's modules: namespace, default and named", () => run(() => [path.join("a", "b"), fs.existsSync("/"), typeof EventEmitter]), [
  "a/b",
  true,
  "function",
]);
works("a package", () => run(() => parse("1 + 1", { ecmaVersion: 2022 }).type), "Program");
works("a CommonJS module", () => run(() => [legacy.double(4), legacy.name]), [8, "legacy"]);
works(
  "a file of the user's: named, default, namespace; loaded by the worker itself",
  () => run(() => [addSeven(1), seven, new Greeter().greet() === `hello from ${process.pid}`, dependency.addSeven(2)]),
  [8, 7, true, 9],
);
works("an exported variable is the worker's own", async () => {
  change();
  return [changing, await run(() => changing)];
}, [2, 1]);
works(
  "a function that another file keeps to itself goes by value",
  () => run(() => [operations.timesSeven(2), operations.addSeven(1)]),
  [14, 8],
);
const addTwelve = makeAdder(5);
works("a closure that another file made", () => run(() => addTwelve(1)), 13);
const exported = new Exported("tag");
works("an instance of a class that another file exports", async () => {
  const there = await run(() => exported.where() === `tag in ${process.pid}`);
  const back = await run((value: Exported) => value, exported);
  return [there, back instanceof Exported];
}, [true, true]);
works("a dynamic import from beside this file", () => run(async () => (await import("./lib/dependency.ts")).addSeven(1)), 8);
works("an imported function itself", () => run(addSeven, 1), 8);
