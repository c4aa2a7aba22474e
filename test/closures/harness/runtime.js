"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.notes = exports.RemoteFunction = void 0;
exports.remote = remote;
exports.run = run;
exports.stop = stop;
/**
 * The smallest runtime that the closure matrix needs: remote functions on one worker process over Node's own IPC channel.
 *
 * Both sides run this file. The driver owns the worker; a worker's calls go to the driver, which sends them to the worker again, so
 * nested tasks take the same way as the driver's own. Definitions travel once, values with the ids of the definitions in them.
 */
const node_child_process_1 = require("node:child_process");
const node_url_1 = require("node:url");
const capture_ts_1 = require("../../../src/closure/capture.js");
const revive_ts_1 = require("../../../src/closure/revive.js");
const isWorker = process.env.SHOAL_CLOSURE_TEST_WORKER === "1";
const REMOTE_FUNCTION_KIND = 1;
class RemoteFunction {
  target;
  #definition;
  constructor(target, definition = null) {
    this.target = target;
    this.#definition = definition;
  }
  /** Captured at first use, as the real one does. */
  get definition() {
    if (this.#definition === null) {
      const made = (0, capture_ts_1.captureDefinition)(this.target, hooksOf(this));
      exports.notes.push(...made.notes);
      const id = pendingSelf.get(this) ?? made.id;
      definitions.set(id, { id, bytes: made.bytes, buffers: made.buffers });
      this.#definition = id;
    }
    return this.#definition;
  }
  remote(...parameters) {
    return submit(this.definition, parameters);
  }
}
exports.RemoteFunction = RemoteFunction;
/** A remote function that captures itself is sent under an id that exists before its definition does. */
const pendingSelf = new Map();
let selfCount = 0;
function hooksOf(self) {
  return {
    reduce(value) {
      if (!(value instanceof RemoteFunction)) return undefined;
      if (value === self) {
        selfCount += 1;
        pendingSelf.set(value, `self:${process.pid}:${selfCount}`);
        return { kind: REMOTE_FUNCTION_KIND, payload: pendingSelf.get(value) };
      }
      return { kind: REMOTE_FUNCTION_KIND, payload: value.definition };
    },
  };
}
/** Notes of all captures in this process, oldest first. */
exports.notes = [];
/** Everything that this process made or received. */
const definitions = new Map();
const revived = new Map();
const waiting = new Map();
let calls = 0;
let worker = null;
const context = {
  hooks: { revive: (_kind, payload) => new RemoteFunction(null, payload) },
  definition: (id) => {
    let value = revived.get(id);
    if (!value) {
      const sent = definitions.get(id);
      if (!sent) return Promise.reject(new Error(`no definition ${id}`));
      value = (0, revive_ts_1.reviveDefinition)(sent.bytes, sent.buffers, context);
      revived.set(id, value);
    }
    return value;
  },
};
function remote(target) {
  return new RemoteFunction(target);
}
/** Runs a function (or constructs a class) on the worker. Everything in the matrix goes through here. */
// biome-ignore lint/suspicious/noExplicitAny: results are compared, not typed.
function run(target, ...parameters) {
  return remote(target).remote(...parameters);
}
(0, capture_ts_1.registerWellKnown)("test:remote", remote);
(0, capture_ts_1.registerWellKnown)("test:run", run);
(0, capture_ts_1.registerWellKnown)("test:RemoteFunction", RemoteFunction);
(0, capture_ts_1.registerWellKnown)("test:notes", exports.notes);
function payloadOf(value) {
  const captured = (0, capture_ts_1.captureValue)(value, hooksOf(null));
  exports.notes.push(...captured.notes);
  const needed = captured.definitions
    .map((id) => (0, capture_ts_1.definitionOf)(id) ?? definitions.get(id))
    .filter((found) => found !== undefined);
  return {
    bytes: captured.bytes,
    buffers: captured.buffers,
    definitions: needed.map(({ id, bytes, buffers }) => ({ id, bytes, buffers })),
  };
}
function receive({ bytes, buffers, definitions: brought }) {
  for (const definition of brought) definitions.set(definition.id, definition);
  return (0, revive_ts_1.reviveValue)(bytes, buffers, context);
}
function send(message) {
  if (isWorker) process.send?.(message);
  else startWorker().send(message, () => undefined); // a worker that is gone has rejected its calls already
}
async function submit(task, parameters) {
  const payload = payloadOf(parameters);
  calls += 1;
  const call = calls;
  return new Promise((resolve, reject) => {
    waiting.set(call, { resolve, reject });
    send({ type: "call", call, task, definitions: [...definitions.values()], parameters: payload });
  });
}
const LOADER_FLAG = /^--(?:import|require|loader|experimental-)/;
function startWorker() {
  if (worker) return worker;
  const execArgv = process.execArgv.filter((flag, index, all) => LOADER_FLAG.test(flag) || LOADER_FLAG.test(all[index - 1] ?? ""));
  worker = (0, node_child_process_1.fork)((0, node_url_1.fileURLToPath)(new URL("./worker.ts", import.meta.url)), [], {
    execArgv: [...(process.env.VITEST ? [] : execArgv), "--disable-warning=ExperimentalWarning"],
    serialization: "advanced",
    env: { ...process.env, SHOAL_CLOSURE_TEST_WORKER: "1", VITEST: "", NODE_OPTIONS: "" },
  });
  worker.on("message", (message) => void handle(message));
  worker.on("exit", (code) => {
    for (const { reject } of waiting.values()) reject(new Error(`the worker exited with ${code}`));
    waiting.clear();
  });
  (0, capture_ts_1.prepareCapture)();
  return worker;
}
function stop() {
  worker?.kill();
}
async function handle(message) {
  if (message.type === "call") {
    if (isWorker) await execute(message);
    else await forward(message);
    return;
  }
  const caller = waiting.get(message.call);
  waiting.delete(message.call);
  if (message.type === "result") {
    receive(message.value).then(caller?.resolve, caller?.reject);
  } else {
    const { name, stack } = message;
    caller?.reject(Object.assign(new Error(message.message), { name, stack }));
  }
}
/** On the driver: a worker's call comes back to it under a number of the driver's. */
async function forward({ call, task, definitions: brought, parameters }) {
  for (const definition of brought) definitions.set(definition.id, definition);
  for (const definition of parameters.definitions) definitions.set(definition.id, definition);
  calls += 1;
  const inner = calls;
  const answer = new Promise((resolve, reject) => waiting.set(inner, { resolve, reject }));
  send({ type: "call", call: inner, task, definitions: [...definitions.values()], parameters });
  try {
    const value = await answer;
    send({ type: "result", call, value: payloadOf(value) });
  } catch (error) {
    send(failure(call, error));
  }
}
async function execute({ call, task, definitions: brought, parameters }) {
  try {
    for (const definition of brought) definitions.set(definition.id, definition);
    const target = await context.definition(task);
    const values = await receive(parameters);
    const value = await collect(/^class\b/.test(target.toString()) ? Reflect.construct(target, values) : await target(...values));
    send({ type: "result", call, value: payloadOf(value) });
  } catch (error) {
    send(failure(call, error));
  }
}
/** Generators become the arrays of what they yield. */
async function collect(value) {
  const iterable = value;
  if (typeof iterable?.next !== "function") return value;
  const items = [];
  for await (const item of iterable) items.push(item);
  return items;
}
function failure(call, error) {
  const { name = "Error", message = String(error), stack = "" } = error instanceof Error ? error : {};
  return { type: "error", call, name, message, stack };
}
if (isWorker) {
  process.on("message", (message) => void handle(message));
  process.on("disconnect", () => process.exit(0));
}
//# sourceMappingURL=runtime.js.map
