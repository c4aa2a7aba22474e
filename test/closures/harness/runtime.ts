/**
 * The smallest runtime that the closure matrix needs: remote functions on one worker process over Node's own IPC channel.
 *
 * Both sides run this file. The driver owns the worker; a worker's calls go to the driver, which sends them to the worker again, so
 * nested tasks take the same way as the driver's own. Definitions travel once, values with the ids of the definitions in them.
 */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import {
  type CapturedValue,
  type CaptureHooks,
  captureDefinition,
  captureValue,
  type Definition,
  definitionOf,
  prepareCapture,
  registerWellKnown,
} from "../../../src/closure/capture.ts";
import { type ReviveContext, reviveDefinition, reviveValue } from "../../../src/closure/revive.ts";

type AnyFunction = (...parameters: never[]) => unknown;
type AnyClass = abstract new (...parameters: never[]) => unknown;
type Sent = Pick<Definition, "id" | "bytes" | "buffers">;
type Payload = Pick<CapturedValue, "bytes" | "buffers"> & { definitions: Sent[] };

type Message =
  | { type: "call"; call: number; task: string; definitions: Sent[]; parameters: Payload }
  | { type: "result"; call: number; value: Payload }
  | { type: "error"; call: number; name: string; message: string; stack: string };

const isWorker = process.env.SHOAL_CLOSURE_TEST_WORKER === "1";
const REMOTE_FUNCTION_KIND = 1;

export class RemoteFunction {
  readonly target: AnyFunction | AnyClass | null;
  #definition: string | null;

  constructor(target: AnyFunction | AnyClass | null, definition: string | null = null) {
    this.target = target;
    this.#definition = definition;
  }

  /** Captured at first use, as the real one does. */
  get definition(): string {
    if (this.#definition === null) {
      const made = captureDefinition(this.target as AnyFunction, hooksOf(this));
      notes.push(...made.notes);
      const id = pendingSelf.get(this) ?? made.id;
      definitions.set(id, { id, bytes: made.bytes, buffers: made.buffers });
      this.#definition = id;
    }
    return this.#definition;
  }

  remote(...parameters: unknown[]): Promise<unknown> {
    return submit(this.definition, parameters);
  }
}

/** A remote function that captures itself is sent under an id that exists before its definition does. */
const pendingSelf = new Map<RemoteFunction, string>();
let selfCount = 0;

function hooksOf(self: RemoteFunction | null): CaptureHooks {
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
export const notes: string[] = [];
/** Everything that this process made or received. */
const definitions = new Map<string, Sent>();
const revived = new Map<string, Promise<unknown>>();
const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (reason: Error) => void }>();
let calls = 0;
let worker: ChildProcess | null = null;

const context: ReviveContext = {
  hooks: { revive: (_kind, payload) => new RemoteFunction(null, payload as string) },
  definition: (id) => {
    let value = revived.get(id);
    if (!value) {
      const sent = definitions.get(id);
      if (!sent) return Promise.reject(new Error(`no definition ${id}`));
      value = reviveDefinition(sent.bytes, sent.buffers, context);
      revived.set(id, value);
    }
    return value;
  },
};

export function remote(target: AnyFunction | AnyClass): RemoteFunction {
  return new RemoteFunction(target);
}

/** Runs a function (or constructs a class) on the worker. Everything in the matrix goes through here. */
// biome-ignore lint/suspicious/noExplicitAny: results are compared, not typed.
export function run(target: AnyFunction | AnyClass, ...parameters: unknown[]): Promise<any> {
  return remote(target).remote(...parameters);
}

registerWellKnown("test:remote", remote);
registerWellKnown("test:run", run);
registerWellKnown("test:RemoteFunction", RemoteFunction);
registerWellKnown("test:notes", notes);

function payloadOf(value: unknown): Payload {
  const captured = captureValue(value, hooksOf(null));
  notes.push(...captured.notes);
  const needed = captured.definitions.map((id) => definitionOf(id) ?? definitions.get(id)).filter((found) => found !== undefined);
  return {
    bytes: captured.bytes,
    buffers: captured.buffers,
    definitions: needed.map(({ id, bytes, buffers }) => ({ id, bytes, buffers })),
  };
}

function receive({ bytes, buffers, definitions: brought }: Payload): Promise<unknown> {
  for (const definition of brought) definitions.set(definition.id, definition);
  return reviveValue(bytes, buffers, context);
}

function send(message: Message): void {
  if (isWorker) process.send?.(message);
  else startWorker().send(message, () => undefined); // a worker that is gone has rejected its calls already
}

async function submit(task: string, parameters: unknown[]): Promise<unknown> {
  const payload = payloadOf(parameters);
  calls += 1;
  const call = calls;
  return new Promise((resolve, reject) => {
    waiting.set(call, { resolve, reject });
    send({ type: "call", call, task, definitions: [...definitions.values()], parameters: payload });
  });
}

const LOADER_FLAG = /^--(?:import|require|loader|experimental-)/;

function startWorker(): ChildProcess {
  if (worker) return worker;
  const execArgv = process.execArgv.filter((flag, index, all) => LOADER_FLAG.test(flag) || LOADER_FLAG.test(all[index - 1] ?? ""));
  worker = fork(fileURLToPath(new URL("./worker.ts", import.meta.url)), [], {
    execArgv: [...(process.env.VITEST ? [] : execArgv), "--disable-warning=ExperimentalWarning"],
    serialization: "advanced",
    env: { ...process.env, SHOAL_CLOSURE_TEST_WORKER: "1", VITEST: "", NODE_OPTIONS: "" },
  });
  worker.on("message", (message: Message) => void handle(message));
  worker.on("exit", (code) => {
    for (const { reject } of waiting.values()) reject(new Error(`the worker exited with ${code}`));
    waiting.clear();
  });
  prepareCapture();
  return worker;
}

export function stop(): void {
  worker?.kill();
}

async function handle(message: Message): Promise<void> {
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
async function forward({ call, task, definitions: brought, parameters }: Extract<Message, { type: "call" }>): Promise<void> {
  for (const definition of brought) definitions.set(definition.id, definition);
  for (const definition of parameters.definitions) definitions.set(definition.id, definition);
  calls += 1;
  const inner = calls;
  const answer = new Promise<unknown>((resolve, reject) => waiting.set(inner, { resolve, reject }));
  send({ type: "call", call: inner, task, definitions: [...definitions.values()], parameters });
  try {
    const value = await answer;
    send({ type: "result", call, value: payloadOf(value) });
  } catch (error) {
    send(failure(call, error));
  }
}

async function execute({ call, task, definitions: brought, parameters }: Extract<Message, { type: "call" }>): Promise<void> {
  try {
    for (const definition of brought) definitions.set(definition.id, definition);
    const target = (await context.definition(task)) as AnyFunction;
    const values = (await receive(parameters)) as never[];
    const value = await collect(/^class\b/.test(target.toString()) ? Reflect.construct(target, values) : await target(...values));
    send({ type: "result", call, value: payloadOf(value) });
  } catch (error) {
    send(failure(call, error));
  }
}

/** Generators become the arrays of what they yield. */
async function collect(value: unknown): Promise<unknown> {
  const iterable = value as AsyncIterable<unknown> & { next?: unknown };
  if (typeof iterable?.next !== "function") return value;
  const items: unknown[] = [];
  for await (const item of iterable) items.push(item);
  return items;
}

function failure(call: number, error: unknown): Message {
  const { name = "Error", message = String(error), stack = "" } = error instanceof Error ? error : {};
  return { type: "error", call, name, message, stack };
}

if (isWorker) {
  process.on("message", (message: Message) => void handle(message));
  process.on("disconnect", () => process.exit(0));
}
