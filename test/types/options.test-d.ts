/** Options: their names and types at compile time. */
import { type ActorOptions, exactly, type InitOptions, type MethodOptions, remote, type TaskOptions } from "./api.ts";

const task = () => 1;
class Actor {
  run(): number {
    return 1;
  }
}

remote(task, {
  numCpus: 0.5,
  numGpus: 0.25,
  memoryBytes: 2 ** 30,
  resources: { tpu: 1, "node:a": 0.001 },
  numReturns: 1,
  maxRetries: -1,
  retryOn: [RangeError, class Own extends Error {}],
  retryDelayMs: 10,
  maxCalls: 100,
  name: "task",
});
// @ts-expect-error: of another type
remote(task, { maxCalls: "100" });
// @ts-expect-error: of tasks alone
remote(Actor, { maxCalls: 1 });
remote(task, { retryOn: true });
remote(task, { timeoutMs: 1000, signal: new AbortController().signal });
// @ts-expect-error: of another type
remote(task, { signal: new AbortController() });
remote(task, { retryOn: (error) => error instanceof RangeError });
exactly<(error: unknown) => boolean>()(null as unknown as Extract<NonNullable<TaskOptions["retryOn"]>, (error: unknown) => boolean>);
remote(Actor, {
  numCpus: 1,
  numGpus: 0,
  memoryBytes: 1024,
  resources: { tpu: 1 },
  name: "actor",
  namespace: "tests",
  getIfExists: true,
  maxRestarts: -1,
  maxTaskRetries: 2,
  lifetime: "detached",
  maxConcurrency: 4,
  concurrencyGroups: { io: 2 },
  methods: { run: { concurrencyGroup: "io", maxTaskRetries: 1, retryOn: [RangeError], retryDelayMs: 5 } },
  maxPendingCalls: 100,
  allowOutOfOrderExecution: true,
});

// Options can be handed on with `undefined` for those that are not set.
declare const maybe: number | undefined;
remote(task, { numCpus: maybe, name: undefined });
remote(Actor).options({ numCpus: maybe, maxRestarts: undefined });

export const limitedMethod: MethodOptions = { timeoutMs: Number.POSITIVE_INFINITY, signal: AbortSignal.timeout(10) };
export const taskOptions: TaskOptions = { numReturns: 3, numCpus: 1 };
export const methodOptions: MethodOptions = { numReturns: 3 };
export const actorOptions: ActorOptions = { maxRestarts: 1, methods: { run: {} } };
remote(Actor, actorOptions).remote();
export const initOptions: InitOptions = {
  numCpus: 4,
  numGpus: 0,
  resources: { tpu: 8 },
  objectStoreMemoryBytes: 2 ** 30,
  memoryUsageThreshold: 0.9,
  taskOomRetries: 5,
  waitingProcessesPerCpu: 1,
  spillDirectory: "spill",
  namespace: "tests",
  logToDriver: false,
  mode: "inProcess",
  ignoreReinitError: true,
};

// @ts-expect-error: Ray's spelling
remote(task, { num_cpus: 1 });
// @ts-expect-error: a misspelling
remote(task, { numCPUs: 1 });
// @ts-expect-error: of another type
remote(task, { numCpus: "1" });
// @ts-expect-error: of another type
remote(task, { retryOn: 3 });
// @ts-expect-error: of another type
remote(task, { retryOn: ["RangeError"] });
// @ts-expect-error: an option of actors
remote(task, { maxRestarts: 1 });
// @ts-expect-error: an option of tasks
remote(Actor, { maxRetries: 1 });
// @ts-expect-error: an option of tasks
remote(Actor).options({ numReturns: 2 });
// @ts-expect-error: of another type
remote(Actor, { getIfExists: "yes" });
// @ts-expect-error: no such method
remote(Actor, { methods: { walk: {} } });
// @ts-expect-error: no such method besides one that exists
remote(Actor, { methods: { run: {}, walk: {} } });
// @ts-expect-error: an option of actors
remote(Actor, { methods: { run: { maxConcurrency: 2 } } });
// @ts-expect-error: no such lifetime
remote(Actor, { lifetime: "forever" });
// @ts-expect-error: limits are numbers
remote(Actor, { concurrencyGroups: { io: "2" } });
// @ts-expect-error: no such mode
export const badMode: InitOptions = { mode: "threads" };
// @ts-expect-error: an amount that is no number
export const badResources: InitOptions = { resources: { tpu: "8" } };
