/** Options: defaults, refusals and their messages, and the effect of `.options()`. */
import { describe, expect, test, vi } from "vitest";
import { resolveActorOptions, resolveInitOptions, resolveMethodOptions, resolveTaskOptions } from "./options.ts";
import { resolveGetOptions, resolveWaitOptions } from "./operation-options.ts";

function messageOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`;
  }
  return "nothing was thrown";
}

describe("the options of a task", () => {
  test("have defaults", () => {
    expect(resolveTaskOptions()).toEqual({
      numReturns: 1,
      stream: { items: 256, bytes: 64 * 1024 * 1024 },
      name: undefined,
      shape: "CPU:10000",
      resources: { CPU: 1 },
      retry: { maxRetries: 3, retryOn: false, retryDelayMs: 0 },
      given: {},
    });
  });

  test("are frozen, and apart from what the user goes on to change", () => {
    const given = { numCpus: 2, resources: { tpu: 1 } };
    const resolved = resolveTaskOptions(given);
    given.resources.tpu = 5;
    expect(resolved.resources).toEqual({ CPU: 2, tpu: 1 });
    for (const part of [resolved, resolved.resources, resolved.retry, resolved.given]) expect(Object.isFrozen(part)).toBe(true);
  });

  test("make one shape of one set of amounts, in whatever order", () => {
    const one = resolveTaskOptions({ numCpus: 0.5, numGpus: 0.25, memoryBytes: 1024, resources: { b: 1, a: 0.0001 } });
    const other = resolveTaskOptions({ resources: { a: 0.0001, b: 1 }, memoryBytes: 1024, numGpus: 0.25, numCpus: 0.5 });
    expect(one.shape).toBe("CPU:5000,GPU:2500,a:1,b:10000,memory:10240000");
    expect(other.shape).toBe(one.shape);
    expect(resolveTaskOptions({ numCpus: 0 }).shape).toBe("");
  });

  test("of a copy keep what it does not name", () => {
    const base = resolveTaskOptions({ numCpus: 2, maxRetries: 7 });
    const copy = resolveTaskOptions({ maxRetries: 0, name: "copy", numCpus: undefined }, base);
    expect(copy.given).toEqual({ numCpus: 2, maxRetries: 0, name: "copy" });
    expect(copy.resources).toEqual({ CPU: 2 });
    expect(base.given).toEqual({ numCpus: 2, maxRetries: 7 });
    expect(resolveTaskOptions(copy.given)).toEqual(copy);
  });

  test("take every fraction down to 0.0001", () => {
    for (const numCpus of [0.0001, 0.0003, 0.1, 0.7, 1.1, 3.3333, 1234.5678])
      expect(resolveTaskOptions({ numCpus }).resources).toEqual({ CPU: numCpus });
  });

  test.each([
    [
      { numCpus: "1" },
      'TypeError: Cannot set numCpus of a task: a number from 0 to 8796093022208 in steps of 0.0001 is needed: received "1"',
    ],
    [
      { numCpus: -1 },
      "RangeError: Cannot set numCpus of a task: a number from 0 to 8796093022208 in steps of 0.0001 is needed: received -1",
    ],
    [
      { numCpus: Number.NaN },
      "RangeError: Cannot set numCpus of a task: a number from 0 to 8796093022208 in steps of 0.0001 is needed: received NaN",
    ],
    [
      { numGpus: 0.00015 },
      "RangeError: Cannot set numGpus of a task: a number from 0 to 8796093022208 in steps of 0.0001 is needed: received 0.00015",
    ],
    [
      { numGpus: Number.POSITIVE_INFINITY },
      "RangeError: Cannot set numGpus of a task: a number from 0 to 8796093022208 in steps of 0.0001 is needed: received Infinity",
    ],
    [
      { memoryBytes: 1.5 },
      "RangeError: Cannot set memoryBytes of a task: a whole number of bytes from 0 to 8796093022208 is needed: received 1.5",
    ],
    [
      { numReturns: 1001 },
      'RangeError: Cannot set numReturns of a task: a whole number from 0 to 1000 or "streaming" is needed: received 1001',
    ],
    [
      { numReturns: "stream" },
      'RangeError: Cannot set numReturns of a task: a whole number from 0 to 1000 or "streaming" is needed: received "stream"',
    ],
    [{ maxRetries: -2 }, "RangeError: Cannot set maxRetries of a task: a whole number from -1 is needed (-1: without end): received -2"],
    [{ maxRetries: null }, "TypeError: Cannot set maxRetries of a task: a whole number from -1 is needed (-1: without end): received null"],
    [
      { retryDelayMs: Number.POSITIVE_INFINITY },
      "RangeError: Cannot set retryDelayMs of a task: a number of milliseconds from 0 to 2147483647 is needed: received Infinity",
    ],
    [{ name: "" }, 'RangeError: Cannot set name of a task: text of 1 to 1000 characters is needed: received ""'],
    [
      { retryOn: 3 },
      "TypeError: Cannot set retryOn of a task: true, false, an array of error classes, or a function of the error is needed: received 3",
    ],
    [
      { retryOn: RangeError },
      "TypeError: Cannot set retryOn of a task: a class goes into an array, [RangeError]: received function RangeError",
    ],
    [
      { retryOn: [Error, Map] },
      "TypeError: Cannot set retryOn of a task: item 1 is not a class of errors: received [function Error, function Map]",
    ],
    [
      { resources: [1] },
      "TypeError: Cannot set resources of a task: an object of names and amounts, such as { tpu: 1 }, is needed: received [1]",
    ],
    [
      { resources: { CPU: 1 } },
      'TypeError: Cannot set resources of a task: "CPU" is not a custom resource: use numCpus: received { CPU: 1 }',
    ],
    [
      { resources: { gpu: 1 } },
      'TypeError: Cannot set resources of a task: "gpu" is not a custom resource: use numGpus: received { gpu: 1 }',
    ],
    [
      { resources: { memory: 1 } },
      'TypeError: Cannot set resources of a task: "memory" is not a custom resource: use memoryBytes: received { memory: 1 }',
    ],
    [
      { resources: { tpu: "1" } },
      'TypeError: Cannot set resources of a task: for "tpu" a number from 0 to 8796093022208 in steps of 0.0001 is needed: received { tpu: "1" }',
    ],
    [
      { resources: { tpu: 0.00001 } },
      'RangeError: Cannot set resources of a task: for "tpu" a number from 0 to 8796093022208 in steps of 0.0001 is needed: received { tpu: 0.00001 }',
    ],
    [
      { resources: { "a,b": 1 } },
      'RangeError: Cannot set resources of a task: the name of a resource is text of 1 to 1000 characters without commas: not "a,b": received { a,b: 1 }',
    ],
    [{ nmuCpus: 1 }, 'TypeError: Cannot set options of a task: there is no option "nmuCpus": did you mean numCpus or numGpus?'],
    [{ retries: 1 }, 'TypeError: Cannot set options of a task: there is no option "retries": did you mean maxRetries?'],
    [
      { colour: "red" },
      'TypeError: Cannot set options of a task: there is no option "colour": there are numCpus, numGpus, memoryBytes, resources, schedulingStrategy, placementGroup, labelSelector, fallbackStrategy, runtimeEnv, numReturns, highWaterMark, retryOn, retryDelayMs, timeoutMs, signal, name, maxRetries, maxCalls',
    ],
    [{ num_cpus: 1 }, 'TypeError: Cannot set options of a task: there is no option "num_cpus": it is spelled numCpus'],
    [{ numCPUs: 1 }, 'TypeError: Cannot set options of a task: there is no option "numCPUs": it is spelled numCpus'],
    [{ num_returns: 2 }, 'TypeError: Cannot set options of a task: there is no option "num_returns": it is spelled numReturns'],
    [{ memory: 1 }, 'TypeError: Cannot set options of a task: there is no option "memory": it is memoryBytes, in bytes'],
    [{ retry_exceptions: true }, 'TypeError: Cannot set options of a task: there is no option "retry_exceptions": it is retryOn'],
    [{ maxRestarts: 1 }, 'TypeError: Cannot set options of a task: there is no option "maxRestarts": it is an option of actors'],
    [5, "TypeError: Cannot set options of a task: an object such as { numCpus: ... } is needed: received 5"],
    [null, "TypeError: Cannot set options of a task: an object such as { numCpus: ... } is needed: received null"],
    [[], "TypeError: Cannot set options of a task: an object such as { numCpus: ... } is needed: received []"],
  ])("are refused: %j", (options, message) => {
    expect(messageOf(() => resolveTaskOptions(options as object))).toBe(message);
  });

  test("names that every object has are no options", () => {
    expect(messageOf(() => resolveTaskOptions({ toString: 1 }))).toMatch(/^TypeError: .*there is no option "toString"/);
    expect(messageOf(() => resolveTaskOptions(JSON.parse('{ "__proto__": { "numCpus": 2 } }')))).toMatch(
      /^TypeError: .*there is no option "__proto__"/,
    );
  });

  test("a very long name is answered shortly", () => {
    expect(messageOf(() => resolveTaskOptions({ ["x".repeat(1e6)]: 1 })).length).toBeLessThan(400);
  });

  test("retryOn takes every form", () => {
    abstract class Temporary extends Error {}
    const predicate = (error: unknown): boolean => error instanceof Temporary;
    for (const retryOn of [true, false, [], [RangeError, Temporary], predicate])
      expect(resolveTaskOptions({ retryOn }).retry.retryOn).toBe(retryOn);
  });
});

describe("the options of a method", () => {
  test("have defaults, and the retries of the actor", () => {
    expect(resolveMethodOptions()).toEqual({
      numReturns: 1,
      stream: { items: 256, bytes: 64 * 1024 * 1024 },
      name: undefined,
      shape: "",
      resources: {},
      retry: { maxRetries: 0, retryOn: false, retryDelayMs: 0 },
      given: {},
    });
    expect(resolveMethodOptions({}, { maxRetries: -1 }).retry.maxRetries).toBe(-1);
  });

  test("of a copy keep what it does not name", () => {
    const base = resolveMethodOptions({ numReturns: 2 });
    expect(resolveMethodOptions({ name: "m" }, { base })).toMatchObject({ numReturns: 2, name: "m" });
  });

  test("have no resources", () => {
    expect(messageOf(() => resolveMethodOptions({ numCpus: 1 }))).toBe(
      'TypeError: Cannot set options of an actor\'s method: there is no option "numCpus": there are numReturns, highWaterMark, retryOn, retryDelayMs, timeoutMs, signal, name, concurrencyGroup, maxTaskRetries',
    );
  });
});

describe("the options of an actor", () => {
  test("have defaults: nothing held while it lives", () => {
    expect(resolveActorOptions()).toEqual({
      name: undefined,
      namespace: undefined,
      getIfExists: false,
      resources: {},
      shape: "",
      isDetached: false,
      maxRestarts: 0,
      maxTaskRetries: 0,
      maxConcurrency: 1,
      concurrencyGroups: {},
      methods: {},
      maxPendingCalls: -1,
      allowOutOfOrderExecution: false,
      given: {},
    });
  });

  test("tell a CPU that was set from one that was not", () => {
    expect(resolveActorOptions({ numCpus: 0 }).resources).toEqual({ CPU: 0 });
    expect(resolveActorOptions({ numCpus: 2, numGpus: 0.5 })).toMatchObject({
      resources: { CPU: 2, GPU: 0.5 },
      shape: "CPU:20000,GPU:5000",
    });
  });

  test("of a copy keep what it does not name", () => {
    const base = resolveActorOptions({ name: "a", maxRestarts: -1 });
    expect(resolveActorOptions({ getIfExists: true }, base)).toMatchObject({ name: "a", maxRestarts: -1, getIfExists: true });
  });

  test.each([
    [{ getIfExists: true }, "TypeError: Cannot set getIfExists of an actor: it needs the option name, by which the actor is found"],
    [{ getIfExists: "yes" }, 'TypeError: Cannot set getIfExists of an actor: true or false is needed: received "yes"'],
    [
      { maxRestarts: 0.5 },
      "RangeError: Cannot set maxRestarts of an actor: a whole number from -1 is needed (-1: without end): received 0.5",
    ],
    [{ max_restarts: 1 }, 'TypeError: Cannot set options of an actor: there is no option "max_restarts": it is spelled maxRestarts'],
    [
      { numReturns: 2 },
      'TypeError: Cannot set options of an actor: there is no option "numReturns": it is an option of the actor\'s methods',
    ],
    [
      { maxRetries: 2 },
      'TypeError: Cannot set options of an actor: there is no option "maxRetries": it is an option of tasks: for actors there are maxRestarts and maxTaskRetries',
    ],
    [{ maxConcurrency: 0 }, "RangeError: Cannot set maxConcurrency of an actor: a whole number from 1 is needed: received 0"],
    [
      { maxPendingCalls: 0 },
      "RangeError: Cannot set maxPendingCalls of an actor: a whole number from 1 is needed (-1: without limit): received 0",
    ],
    [
      { concurrencyGroups: { io: "2" } },
      'TypeError: Cannot set concurrencyGroups of an actor: for group io a whole number from 1 is needed: received { io: "2" }',
    ],
    [
      { concurrencyGroups: { default: 2 } },
      'RangeError: Cannot set concurrencyGroups of an actor: the limit of the group "default" is maxConcurrency, and others have names of their own: received { default: 2 }',
    ],
    [
      { methods: { read: { concurrencygroup: "io" } } },
      'TypeError: Cannot set options of method read of an actor: there is no option "concurrencygroup": it is spelled concurrencyGroup',
    ],
  ])("are refused: %j", (options, message) => {
    expect(messageOf(() => resolveActorOptions(options as object))).toBe(message);
  });
});

describe("the options of init", () => {
  test("have defaults; what depends on the machine is left open", () => {
    expect(resolveInitOptions({})).toEqual({
      numCpus: undefined,
      numGpus: undefined,
      labels: {},
      resources: {},
      objectStoreMemoryBytes: undefined,
      memoryUsageThreshold: 0.95,
      taskOomRetries: -1,
      waitingProcessesPerCpu: 2,
      spillDirectory: undefined,
      namespace: undefined,
      logToDriver: true,
      checkCaptures: true,
      mode: "process",
      ignoreReinitError: false,
    });
    expect(Object.isFrozen(resolveInitOptions().resources)).toBe(true);
  });

  test("take the runtime environment of the environment where the program names none", () => {
    vi.stubEnv("SHOAL_RUNTIME_ENV", '{ "envVars": { "MODE": "fast" } }');
    expect(resolveInitOptions().runtimeEnv).toEqual({ envVars: { MODE: "fast" } });
    expect(resolveInitOptions({ runtimeEnv: {} }).runtimeEnv).toEqual({});
    expect(resolveInitOptions({ mode: "inProcess" }).runtimeEnv).toBeUndefined();
    for (const [text, reason] of [
      ["MODE=fast", 'TypeError: Cannot use SHOAL_RUNTIME_ENV as the runtime environment: JSON is needed: received "MODE=fast"'],
      ['{"pip":["x"]}', "TypeError: Cannot use SHOAL_RUNTIME_ENV as the runtime environment: there is no field"],
      ['{"execArgv":["-e"]}', "RangeError: Cannot use SHOAL_RUNTIME_ENV"],
    ] as const) {
      vi.stubEnv("SHOAL_RUNTIME_ENV", text);
      expect(() => resolveInitOptions()).toThrow(
        expect.objectContaining({ message: expect.stringContaining(reason.slice(reason.indexOf(" ") + 1)), name: reason.split(":")[0] }),
      );
    }
    vi.unstubAllEnvs();
  });

  test("take the namespace of the environment where the program names none", () => {
    vi.stubEnv("SHOAL_NAMESPACE", "team");
    expect(resolveInitOptions().namespace).toBe("team");
    expect(resolveInitOptions({ namespace: "own" }).namespace).toBe("own");
    vi.stubEnv("SHOAL_NAMESPACE", "");
    expect(resolveInitOptions().namespace).toBeUndefined();
    vi.unstubAllEnvs();
  });

  test.each([
    [{ mode: "threads" }, 'RangeError: Cannot set mode of init: "process" or "inProcess" is needed: received "threads"'],
    [
      { waitingProcessesPerCpu: 1.5 },
      "RangeError: Cannot set waitingProcessesPerCpu of init: a whole number from 0 is needed: received 1.5",
    ],
    [
      { memoryUsageThreshold: 0 },
      "RangeError: Cannot set memoryUsageThreshold of init: a number above 0 and up to 1 is needed: received 0",
    ],
    [
      { objectStoreMemoryBytes: 0 },
      "RangeError: Cannot set objectStoreMemoryBytes of init: a whole number of bytes from 1 to 8796093022208 is needed: received 0",
    ],
    [
      { resources: { CPU: 4 } },
      'TypeError: Cannot set resources of init: "CPU" is not a custom resource: use numCpus: received { CPU: 4 }',
    ],
    [
      { object_store_memory: 1 },
      'TypeError: Cannot set options of init: there is no option "object_store_memory": it is objectStoreMemoryBytes',
    ],
    [{ log_to_driver: false }, 'TypeError: Cannot set options of init: there is no option "log_to_driver": it is spelled logToDriver'],
    [{ namespaces: "a" }, 'TypeError: Cannot set options of init: there is no option "namespaces": did you mean namespace?'],
  ])("are refused: %j", (options, message) => {
    expect(messageOf(() => resolveInitOptions(options as object))).toBe(message);
  });
});

describe("the options of get and wait", () => {
  test("a time without end is no limit", () => {
    expect(resolveGetOptions()).toEqual({ timeoutMs: undefined, signal: undefined });
    expect(resolveGetOptions({ timeoutMs: Number.POSITIVE_INFINITY }).timeoutMs).toBeUndefined();
    expect(resolveGetOptions({ timeoutMs: 0 }).timeoutMs).toBe(0);
    const signal = AbortSignal.abort();
    expect(resolveGetOptions({ signal }).signal).toBe(signal);
  });

  test("wait waits for one, for as many as there are at most, and for none of none", () => {
    expect(resolveWaitOptions(undefined, 5)).toEqual({ numReturns: 1, timeoutMs: undefined, signal: undefined, fetchLocal: true });
    expect(resolveWaitOptions({ numReturns: 5 }, 5).numReturns).toBe(5);
    expect(resolveWaitOptions({ numReturns: 5 }, 0).numReturns).toBe(0);
    expect(resolveWaitOptions({}, 0).numReturns).toBe(0);
    expect(messageOf(() => resolveWaitOptions({ numReturns: 6 }, 5))).toBe(
      "RangeError: Cannot set numReturns of wait: there are only 5 references to wait for: received 6",
    );
    expect(messageOf(() => resolveWaitOptions({ numReturns: 0 }, 5))).toBe(
      "RangeError: Cannot set numReturns of wait: a whole number from 1 is needed: received 0",
    );
  });

  test.each([
    [
      { timeoutMs: "1" },
      'TypeError: Cannot set timeoutMs of get: a number of milliseconds from 0 to 2147483647, or Infinity, is needed: received "1"',
    ],
    [
      { timeoutMs: 2 ** 31 },
      "RangeError: Cannot set timeoutMs of get: a number of milliseconds from 0 to 2147483647, or Infinity, is needed: received 2147483648",
    ],
    [{ timeout: 1 }, 'TypeError: Cannot set options of get: there is no option "timeout": it is timeoutMs, in milliseconds'],
    [{ timeout_ms: 1 }, 'TypeError: Cannot set options of get: there is no option "timeout_ms": it is spelled timeoutMs'],
    [{ signal: {} }, "TypeError: Cannot set signal of get: an AbortSignal is needed: received {}"],
  ])("are refused: %j", (options, message) => {
    expect(messageOf(() => resolveGetOptions(options as object))).toBe(message);
  });
});
