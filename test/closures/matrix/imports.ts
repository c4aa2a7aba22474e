/** Imports of a function are imported again where it runs, from the same place. */
import { EventEmitter } from "node:events";
import fs from "node:fs";
import * as path from "node:path";
import { parse } from "acorn";
import { run } from "./run.ts";
import { works } from "./cases.ts";
import Greeter, {
  addSeven,
  change,
  changing,
  connect,
  connection,
  connection as renamed,
  Exported,
  makeAdder,
  operations,
  seven,
} from "./lib/dependency.ts";
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
  "an exported variable is read at each use: assigned meanwhile, after a wait, in closures, patterns and defaults",
  () =>
    run(async () => {
      const before = typeof connection;
      connect("first");
      const { url } = connection ?? { url: "" };
      const shorthand = { connection };
      await new Promise((resolve) => setImmediate(resolve));
      connect("second");
      const inner = (given = connection?.url): string => `${given} ${renamed?.url}`;
      const shadowed = ((connection: number) => connection + 1)(1);
      return [before, url, shorthand.connection?.url, inner(), shadowed, `${connection?.url}`];
    }),
  ["undefined", "first", "first", "second second", 2, "second"],
);
works(
  "an exported variable is read at each use where a task sends it on, itself or in a closure",
  () =>
    run(async () => {
      const there = await run((url: string) => {
        connect(url);
        return run(() => {
          connect(`${url}, inner`);
          return connection?.url;
        });
      }, "sent on");
      return there as unknown;
    }),
  "sent on, inner",
);
class Repository {
  readonly opened = connection?.url;
  static kind = typeof connection;

  query(text: string): string {
    return `${connection?.url}: ${text}`;
  }
}
works(
  "an exported variable is read at each use in the methods and fields of a class",
  () =>
    run(() => {
      connect("one");
      const repository = new Repository();
      connect("two");
      return [repository.opened, repository.query("q"), Repository.kind];
    }),
  ["one", "two: q", "undefined"],
);
works(
  "a failure behind an import that is read from its module names the line of the file",
  () =>
    run(() => {
      try {
        return [connection, (undefined as unknown as { member: string }).member];
      } catch (error) {
        return /imports\.(?:ts|js|cjs|mjs):(\d+)/.test(String((error as Error).stack));
      }
    }),
  true,
);
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
