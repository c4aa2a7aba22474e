/** A value that follows the running code: set for one function, or for a scope that functions enter again and again. */
import { AsyncLocalStorage } from "node:async_hooks";
import { expect, test } from "vitest";
import { AsyncContext } from "./async-context.ts";

test("what a scope calls has its value, also after an await, and what is around it keeps its own", async () => {
  const context = new AsyncContext<string>();
  const scope = context.scope("inner");
  const answer = context.run("outer", () => {
    const later = scope.call(
      async function (this: unknown, ...args: unknown[]): Promise<unknown[]> {
        const before = context.current;
        await Promise.resolve();
        return [this, ...args, before, context.current];
      },
      "self",
      [1, 2],
    );
    return [later, context.current] as const;
  });
  expect(await answer[0]).toEqual(["self", 1, 2, "inner", "inner"]);
  expect(answer[1]).toBe("outer");
  expect(context.current).toBeUndefined();
});

test("a scope can be entered from within, and is left by a failure too", () => {
  const context = new AsyncContext<string>();
  const [outer, inner] = [context.scope("outer"), context.scope("inner")];
  const fails = (): never => {
    throw new RangeError("no");
  };
  const seen = outer.call(
    () => {
      expect(() => inner.call(fails, undefined, [])).toThrow(RangeError);
      return [inner.call(() => context.current, undefined, []), context.current];
    },
    undefined,
    [],
  );
  expect(seen).toEqual(["inner", "outer"]);
  expect(context.current).toBeUndefined();
});

// Before version 24 Node keeps the value of `enterWith` until the event loop turns, wherever it is called.
test.runIf(Number.parseInt(process.versions.node, 10) >= 24)("what a function sets for itself ends with it", () => {
  const scope = new AsyncContext<string>().scope("inner");
  const users = new AsyncLocalStorage<string>();
  expect(
    scope.call(
      () => {
        users.enterWith("set");
        return users.getStore();
      },
      undefined,
      [],
    ),
  ).toBe("set");
  expect(scope.call(() => users.getStore(), undefined, [])).toBeUndefined();
});
