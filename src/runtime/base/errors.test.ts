/** Tests the error family: the fields of each error, the text of a failed task, and the round trip over the wire. */
import { inspect } from "node:util";
import { createContext, runInContext } from "node:vm";
import { describe, expect, test } from "vitest";
import * as errors from "./errors.ts";
import {
  ActorDiedError,
  fromWire,
  isRegisteredError,
  ObjectLostError,
  OwnerDiedError,
  registerErrorClass,
  SerializationError,
  ShoalError,
  standInFor,
  TaskError,
  taskErrorFrom,
  toWire,
  WorkerCrashedError,
} from "./errors.ts";

type ErrorClass = typeof ShoalError;

const family = Object.values(errors).filter(
  (value): value is ErrorClass => typeof value === "function" && (value === ShoalError || value.prototype instanceof ShoalError),
);

function submit(): string {
  return new Error("submit").stack ?? "";
}

function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

describe("the family", () => {
  test("has the 27 classes of the interface, each with a code of its own", () => {
    expect(family).toHaveLength(27);
    expect(new Set(family.map((errorClass) => errorClass.code)).size).toBe(27);
  });

  test.each(family.map((errorClass) => [errorClass.name, errorClass] as const))(
    "%s carries its name, its code and what it is given",
    (name, errorClass) => {
      const cause = new Error("root");
      const error = new errorClass("Cannot go on", { reason: "tired", hint: "rest", details: { hours: 3 }, cause });
      expect(error).toBeInstanceOf(ShoalError);
      expect(error.name).toBe(name);
      expect(error.code).toMatch(/^[A-Z_]+$/);
      expect(isRegisteredError(error)).toBe(true);
      expect(error).toMatchObject({ reason: "tired", hint: "rest", details: { hours: 3 } });
      expect(error.cause).toBe(cause);
      expect(error.stack).toContain(`${name}: Cannot go on`);
    },
  );

  test("has no property for what is not known", () => {
    expect(Object.keys(new WorkerCrashedError("Cannot go on", { exitCode: undefined, reason: "gone" }))).toEqual(["code", "reason"]);
    expect("cause" in new WorkerCrashedError("Cannot go on")).toBe(false);
  });

  test("tells how a process died", () => {
    const end = { exitCode: 7, signal: "SIGKILL", lastOutput: ["one", "two"], pid: 42, nodeId: "ab" };
    expect(new ActorDiedError("Cannot call", end)).toMatchObject(end);
  });

  test("groups the losses of an object", () => {
    expect(new OwnerDiedError("Cannot read")).toBeInstanceOf(ObjectLostError);
  });

  test("refuses a second class with a known code", () => {
    class Impostor extends ShoalError {
      static override readonly code = "TASK_FAILED";
    }
    expect(() => registerErrorClass(Impostor)).toThrow("Cannot register Impostor: the code belongs to TaskError: received TASK_FAILED");
  });
});

describe("a failed task", () => {
  test("says which task, what it threw, and where: the user's line first, then the call", () => {
    const cause = thrownBy(function parse() {
      throw new RangeError("too big");
    });
    const error = taskErrorFrom(cause, { taskName: "parse", pid: 12, nodeId: "0123456789abcdef", submitStack: submit() });
    expect(error.message).toBe("Task parse failed: RangeError: too big");
    expect(error).toMatchObject({ taskName: "parse", pid: 12, nodeId: "0123456789abcdef", cause });
    expect(error.cause).toBeInstanceOf(RangeError);
    const lines = (error.stack ?? "").split("\n");
    expect(lines[0]).toBe("TaskError: Task parse failed: RangeError: too big");
    expect(lines[1]).toMatch(/at parse .*errors\.test\.ts:\d+/);
    const separator = lines.indexOf("    --- ran in process 12 on node 0123456789ab, submitted from ---");
    expect(separator).toBeGreaterThan(1);
    expect(lines[separator + 1]).toMatch(/at submit .*errors\.test\.ts:\d+/);
  });

  test("prefers the stack that the worker saw to that of a revived cause", () => {
    const error = taskErrorFrom(new Error("no"), { taskName: "t", remoteStack: "Error: no\nsecond line\n    at user (/src/app.ts:3:4)\n" });
    expect(error.stack).toBe("TaskError: Task t failed: Error: no\n    at user (/src/app.ts:3:4)");
  });

  test("reads a message of many lines, none of them a frame", () => {
    const error = taskErrorFrom(new Error("first\nsecond"), { taskName: "t" });
    expect(error.stack).toMatch(/^TaskError: Task t failed: Error: first\nsecond\n {4}at /);
  });

  test("keeps each task of a chain of failures, and says it once", () => {
    const inner = taskErrorFrom(new TypeError("bad"), { taskName: "inner" });
    const outer = taskErrorFrom(inner, { taskName: "outer", pid: 1, submitStack: submit() });
    expect(outer.message).toBe("Task outer failed: Task inner failed: TypeError: bad");
    expect(outer.cause).toBe(inner);
  });

  test.each([
    [5, "5"],
    [-0, "-0"],
    [null, "null"],
    [undefined, "undefined"],
    ["text", '"text"'],
    [5n, "5n"],
    [Symbol("s"), "Symbol(s)"],
    [{ a: 1, b: [2] }, "{ a: 1, b: […] }"],
    [[1, "x"], '[1, "x"]'],
    [new Map(), "an instance of Map"],
    [function named() {}, "function named"],
    [{ [Symbol.toStringTag]: "Odd" }, "{}"],
  ])("threw a value that is no error: %#", (thrown, described) => {
    const error = taskErrorFrom(thrown, { taskName: "t", pid: 3 });
    expect(error.message).toBe(`Task t threw a non-error value: ${described}`);
    expect("cause" in error).toBe(true);
    expect(Object.is(error.cause, thrown)).toBe(true);
    expect(error.stack).toBe(`TaskError: ${error.message}`);
  });

  test("threw something that cannot even be looked at", () => {
    const revoked = Proxy.revocable({}, {});
    revoked.revoke();
    expect(taskErrorFrom(revoked.proxy, {}).message).toBe("Task threw a non-error value: a value that cannot be read");
    const hostile = Object.create(Error.prototype, {
      message: { get: () => thrownBy.call(null, () => null) },
      stack: { get: () => thrownBy.call(null, () => null) },
    });
    expect(taskErrorFrom(hostile, { taskName: "t" }).message).toBe("Task t failed: Error");
  });

  test("threw a frozen error, which stays as it is", () => {
    const frozen = Object.freeze(new Error("cold"));
    const error = taskErrorFrom(frozen, { taskName: "t" });
    expect(error.cause).toBe(frozen);
    expect(error.message).toBe("Task t failed: Error: cold");
  });

  test("threw an error of another realm", () => {
    const foreign: unknown = runInContext("new RangeError('far')", createContext());
    expect(taskErrorFrom(foreign, { taskName: "t" }).message).toBe("Task t failed: RangeError: far");
  });

  test("is named by its class where the class sets no name", () => {
    class QuotaError extends Error {}
    expect(taskErrorFrom(new QuotaError("over"), {}).message).toBe("Task failed: QuotaError: over");
  });

  test("has a message of at most 8 KB, and the whole of it in its cause", () => {
    const cause = new Error("x".repeat(1_000_000));
    const error = taskErrorFrom(cause, { taskName: "t" });
    expect(error.message.length).toBe(8192);
    expect(error.message).toMatch(/… \(truncated: 1000022 characters in all\)$/);
    expect(error.stack?.length).toBeLessThanOrEqual(32_768);
    expect((error.cause as Error).message.length).toBe(1_000_000);
    expect(taskErrorFrom("y".repeat(1_000_000), {}).message.length).toBeLessThan(300);
  });
});

describe("in a terminal", () => {
  test("a failed task prints its stack once, without its cause's copy of it", () => {
    const text = inspect(taskErrorFrom(new TypeError("bad"), { taskName: "t", pid: 1, submitStack: submit() }));
    expect(text.match(/TypeError: bad/g)).toHaveLength(1);
    expect(text).not.toContain("[cause]");
    expect(text).not.toContain("taskName");
  });

  test("a failed task prints what its stack does not say: properties of the cause, and the cause's cause", () => {
    const cause = Object.assign(new Error("open", { cause: new Error("root") }), { errno: -2 });
    const text = inspect(taskErrorFrom(cause, { taskName: "t" }));
    expect(text).toContain("properties of the Error: { errno: -2 }");
    expect(text).toContain("[cause]: Error: root");
  });

  test("a dead process prints its end and its last output", () => {
    const crash = new WorkerCrashedError("Cannot finish task t", {
      reason: "killed",
      hint: "Give it memory.",
      signal: "SIGKILL",
      pid: 3,
      lastOutput: ["a", "b"],
      details: { attempts: 4 },
    });
    const notes = [
      "  reason: killed",
      "  hint: Give it memory.",
      "  details: { attempts: 4 }",
      "  process: pid 3, signal SIGKILL",
      "  last output:",
      "    | a",
      "    | b",
    ].join("\n");
    expect(inspect(crash)).toContain(notes);
    expect(inspect(taskErrorFrom(crash, { taskName: "outer" }))).toContain(notes);
  });

  test("a thrown value that is no error is printed", () => {
    expect(inspect(taskErrorFrom({ a: 1 }, {}))).toContain("[cause]: { a: 1 }");
  });
});

describe("across processes", () => {
  /** Returns plain data as the codec delivers it. */
  function transferred<T>(data: T): T {
    return structuredClone(data);
  }

  test.each(family.map((errorClass) => [errorClass.name, errorClass] as const))("%s arrives as it was", (_name, errorClass) => {
    const sent = new errorClass("Cannot go on", {
      reason: "tired",
      hint: "rest",
      details: { hours: 3 },
      exitCode: 1,
      signal: "SIGTERM",
      lastOutput: ["bye"],
      pid: 9,
      nodeId: "ab",
      cause: new RangeError("root"),
    });
    const received = fromWire(transferred(toWire(sent)));
    expect(Object.getPrototypeOf(received)).toBe(errorClass.prototype);
    expect(Object.entries(received)).toEqual(Object.entries(sent));
    expect(received.message).toBe(sent.message);
    expect(received.stack).toBe(sent.stack);
    expect(received.cause).toBeInstanceOf(RangeError);
  });

  test("a failed task keeps its task, its stacks and its cause", () => {
    const sent = taskErrorFrom(new TypeError("bad"), { taskName: "t", pid: 4, nodeId: "ab", submitStack: submit() });
    const received = fromWire(transferred(toWire(sent))) as TaskError;
    expect(received).toBeInstanceOf(TaskError);
    expect(received).toMatchObject({
      taskName: "t",
      pid: 4,
      nodeId: "ab",
      remoteStack: sent.remoteStack,
      stack: sent.stack,
      message: sent.message,
    });
    expect(received.cause).toBeInstanceOf(TypeError);
    expect(inspect(received)).toBe(inspect(sent));
  });

  test("a path arrives", () => {
    const sent = new SerializationError("Cannot send", { path: "captured db → .pool" });
    expect((fromWire(transferred(toWire(sent))) as SerializationError).path).toBe("captured db → .pool");
  });

  test.each([undefined, null, 0, "text"])("a cause that is no error arrives: %s", (cause) => {
    const received = fromWire(transferred(toWire(taskErrorFrom(cause, {}))));
    expect("cause" in received).toBe(true);
    expect(received.cause).toBe(cause);
    expect("cause" in fromWire(transferred(toWire(new ShoalError("alone"))))).toBe(false);
  });

  test("a code that is not known here keeps its code", () => {
    const received = fromWire({ ...toWire(new ShoalError("from the future")), code: "FUTURE" });
    expect(received.constructor).toBe(ShoalError);
    expect(received.code).toBe("FUTURE");
    expect(isRegisteredError(received)).toBe(false);
  });

  test("a library's class arrives once it is registered", () => {
    class QueueFullError extends ShoalError {
      static override readonly code = "TEST_QUEUE_FULL";
    }
    expect(isRegisteredError(new QueueFullError("full"))).toBe(false);
    registerErrorClass(QueueFullError);
    expect(isRegisteredError(new QueueFullError("full"))).toBe(true);
    expect(fromWire(toWire(new QueueFullError("full")))).toBeInstanceOf(QueueFullError);
  });

  test("a user's subclass is no part of the family on the wire", () => {
    class Mine extends TaskError {}
    expect(isRegisteredError(new Mine("x"))).toBe(false);
  });

  test.each([null, 5, "x", {}, { code: "A", message: "m", stack: "s" }, { code: 1, message: "m", stack: "s", fields: {} }])(
    "what is not an error is refused: %j",
    (data) => {
      expect(() => fromWire(data)).toThrow(TypeError);
    },
  );

  test("fields of a wrong type are dropped, unknown ones too", () => {
    const received = fromWire({
      code: "TASK_FAILED",
      message: "m",
      stack: "s",
      fields: { pid: "12", lastOutput: [1], hint: "h", constructor: 1, extra: 2 },
    });
    expect(Object.keys(received)).toEqual(["code", "hint"]);
    expect(inspect(received)).toContain("hint: h");
  });

  test("a value that cannot be sent has a stand-in with its name, message and stack", () => {
    const cause = new RangeError("has a socket");
    const standIn = standInFor(cause, "cause → .socket (Socket)");
    expect(standIn.name).toBe("RangeError");
    expect(standIn.message).toBe("has a socket (the value that was thrown cannot be sent: cause → .socket (Socket))");
    expect(standIn.stack).toBe(cause.stack);
    expect(standInFor(Symbol("x"), "a symbol").message).toBe("Symbol(x) (the value that was thrown cannot be sent: a symbol)");
  });
});
