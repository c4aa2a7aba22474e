/**
 * Reads hidden parts of values through the inspector: a function's scopes and position, private fields, the parts of bound functions and
 * proxies.
 *
 * Owns the one inspector session of this thread, opened at the first use and left open. An open session costs nothing, but an enabled
 * Debugger makes `await` 5-9 times slower, so `withDebugger` enables it for one synchronous step. All calls are synchronous. Live values
 * cross between this code and the inspector through a slot on a built-in module's object, which every vm context reaches.
 */
import type inspector from "node:inspector";
import { asError } from "../../base/texts/describe.ts";
import { SerializationError } from "../../base/errors.ts";
import { tryRead } from "../values/known-values.ts";

const SLOT_KEY = Symbol.for("shoal.closure.slot");
const SLOT_EXPRESSION = `process.getBuiltinModule("node:inspector")[Symbol.for("shoal.closure.slot")]`;
const OBJECT_GROUP = "shoal.closure";

interface Slot {
  input: unknown;
  output: unknown;
}

let openSession: inspector.Session | null = null;
let slot: Slot = { input: undefined, output: undefined };

function session(): inspector.Session {
  if (openSession) return openSession;
  // Loaded with the first capture: a worker that captures nothing does without.
  const inspecting = process.getBuiltinModule("node:inspector");
  const shared = inspecting as unknown as Record<symbol, Slot | undefined>;
  const known = shared[SLOT_KEY];
  if (known) slot = known;
  else Object.defineProperty(inspecting, SLOT_KEY, { value: slot });
  try {
    const created = new inspecting.Session();
    created.connect();
    openSession = created;
    return created;
  } catch (error) {
    throw unavailable(asError(error));
  }
}

/** Sends one inspector command. @throws SerializationError where the inspector is switched off. */
function post(method: string, parameters?: object): unknown {
  let result: unknown;
  let failure: Error | null = null;
  try {
    session().post(method, parameters, (error: Error | null, value: unknown) => {
      failure = error;
      result = value;
    });
  } catch (error) {
    if (error instanceof SerializationError) throw error;
    failure = asError(error);
  }
  if (failure !== null) throw unavailable(failure);
  return result;
}

function unavailable(cause: { message?: string }): SerializationError {
  const message = `Cannot look into a function: Node's inspector answered ${JSON.stringify(cause.message)}`;
  const hint = "Functions can be sent only where the inspector is available: under --permission add --allow-inspector.";
  return new SerializationError(`${message}. ${hint}`, { reason: "inspector-unavailable", hint, cause });
}

interface RemoteResult {
  readonly result: inspector.Runtime.RemoteObject;
}

interface NamedValue {
  readonly name: string;
  readonly value?: inspector.Runtime.RemoteObject;
}

/** Facts that the inspector has about an object or function besides its properties. */
export interface Internals {
  readonly internal: ReadonlyMap<string, inspector.Runtime.RemoteObject>;
  /** Private fields (and accessors, without a value), base class first. */
  readonly privateFields: readonly NamedValue[];
}

export function internalsOf(value: object): Internals {
  const objectId = objectIdOf(value);
  const properties = post("Runtime.getProperties", {
    objectId,
    ownProperties: true,
    nonIndexedPropertiesOnly: true,
  }) as { internalProperties?: NamedValue[]; privateProperties?: NamedValue[] };
  const internal = new Map<string, inspector.Runtime.RemoteObject>();
  for (const property of properties.internalProperties ?? []) {
    if (property.value) internal.set(property.name, property.value);
  }
  return { internal, privateFields: properties.privateProperties ?? [] };
}

function objectIdOf(value: object): string {
  session();
  slot.input = value;
  try {
    const { result } = post("Runtime.evaluate", {
      expression: `${SLOT_EXPRESSION}.input`,
      objectGroup: OBJECT_GROUP,
      silent: true,
    }) as RemoteResult;
    return result.objectId as string;
  } finally {
    slot.input = undefined;
  }
}

const UNSERIALIZABLE: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  "-0": -0,
  Infinity: Number.POSITIVE_INFINITY,
  "-Infinity": Number.NEGATIVE_INFINITY,
};

/** Returns the JavaScript value behind the inspector's description. */
export function liveValue(remote: inspector.Runtime.RemoteObject | undefined): unknown {
  if (!remote) return undefined;
  if (remote.objectId) return throughSlot(remote.objectId, "this");
  const text = remote.unserializableValue;
  if (text === undefined) return remote.value;
  return UNSERIALIZABLE[text] ?? BigInt(text.replace(/n$/, ""));
}

/** A scope of a closure. `variables` holds each variable under its name; reading an uninitialized one throws. */
export interface CapturedScope {
  readonly description: string;
  readonly variables: Record<string, unknown>;
}

/** The scopes that the inspector lists under `[[Scopes]]`, innermost first, without the global one. */
export function scopesOf(internals: Internals): CapturedScope[] {
  const objectId = internals.internal.get("[[Scopes]]")?.objectId;
  if (!objectId) return [];
  const entries = throughSlot(objectId, "Array.from(this)") as { description: string; object: object | undefined }[];
  return entries
    .filter(({ description, object }) => description !== "Global" && object !== undefined)
    .map(({ description, object }) => ({ description, variables: object as Record<string, unknown> }));
}

/** Reads a closure's variable by name. Returns undefined if the closure has none, or if it is not initialized. */
export function readVariable(scopes: readonly CapturedScope[], name: string): { readonly value: unknown } | undefined {
  const scope = scopes.find(({ variables }) => Object.hasOwn(variables, name));
  return scope && tryRead(() => ({ value: scope.variables[name] }));
}

/** The items of an array-like internal property such as `[[BoundArgs]]`. */
export function liveItems(remote: inspector.Runtime.RemoteObject | undefined): unknown[] {
  return remote?.objectId ? (throughSlot(remote.objectId, "Array.from(this)") as unknown[]) : [];
}

function throughSlot(objectId: string, expression: string): unknown {
  post("Runtime.callFunctionOn", {
    objectId,
    functionDeclaration: `function () { "use strict"; ${SLOT_EXPRESSION}.output = ${expression}; }`,
    silent: true,
  });
  const value = slot.output;
  slot.output = undefined;
  return value;
}

/** Lets go of every object that the inspector holds for this module: called at the end of each capture. */
export function releaseObjects(): void {
  if (openSession) post("Runtime.releaseObjectGroup", { objectGroup: OBJECT_GROUP });
}

export type ParsedScript = inspector.Debugger.ScriptParsedEventDataType;

/** Lists all scripts of the process and runs `use`, with the Debugger enabled for as long as that takes (8-30 ms). */
export function withDebugger<Result>(use: (scripts: ParsedScript[], sourceOf: (id: string) => string) => Result): Result {
  const scripts: ParsedScript[] = [];
  const collect = (message: { params: ParsedScript }): void => {
    scripts.push(message.params);
  };
  const open = session();
  open.on("Debugger.scriptParsed", collect);
  try {
    post("Debugger.enable");
    return use(scripts, (scriptId) => {
      const { scriptSource } = post("Debugger.getScriptSource", { scriptId }) as { scriptSource: string };
      return scriptSource;
    });
  } finally {
    open.off("Debugger.scriptParsed", collect);
    post("Debugger.disable");
  }
}

/** Evaluates an expression in the scope of a function that is paused at its first statement. @throws Error when the expression throws */
type EvaluateInside = (expression: string) => unknown;

/**
 * Calls a function and ends the call at its first statement, so that the body does not run.
 *
 * @param call - `next` where a generator's body is meant, of which a call alone runs nothing
 * @returns false when the call could not be stopped: then the function has not been called
 */
export type EnterFunction = (target: object, call: "call" | "next", visit: (evaluate: EvaluateInside) => void) => boolean;

/**
 * Runs `use` with the Debugger enabled once for all functions that it enters (3 ms, and 10 ns for each object of the heap).
 * The caller must enter only functions whose first breakable position comes before anything that runs the user's code (`ParsedText.isEnterable`).
 */
export function withEntry<Result>(use: (enter: EnterFunction) => Result): Result {
  const open = session();
  // Only this session may end the pause: with a frontend attached the program would wait until somebody resumes it there.
  if (process.getBuiltinModule("node:inspector").url() !== undefined) return use(() => false);
  post("Debugger.enable");
  try {
    let canStop: boolean | undefined;
    return use((target, call, visit) => {
      canStop ??= stopsCalls(open);
      return canStop && enter(open, { target, call, visit });
    });
  } finally {
    post("Debugger.disable");
  }
}

/** Whether a call is stopped at all here: tried on a function of ours, as one of the user's that is not stopped would run. */
function stopsCalls(open: inspector.Session): boolean {
  let hasRun = false;
  const probe = (): void => {
    hasRun = true;
  };
  return enter(open, { target: probe, call: "call", visit: () => {} }) && !hasRun;
}

function enter(
  open: inspector.Session,
  { target, call, visit }: { target: object; call: "call" | "next"; visit: (evaluate: EvaluateInside) => void },
): boolean {
  let isStopped = false;
  const failures: unknown[] = [];
  const stopped = ({ params }: { params: inspector.Debugger.PausedEventDataType }): void => {
    isStopped = true;
    try {
      const [frame] = params.callFrames;
      if (frame !== undefined) visit((expression) => evaluateInside(frame.callFrameId, expression));
    } catch (error) {
      failures.push(error);
    }
    // Ends the call at the pause. The end reaches as far as the `Runtime.evaluate` below, which answers with an error.
    post("Debugger.resume", { terminateOnResume: true });
  };
  const callee = call === "next" ? Reflect.apply(target as () => object, undefined, []) : target;
  const { breakpointId } = post("Debugger.setBreakpointOnFunctionCall", { objectId: objectIdOf(target) }) as { breakpointId: string };
  open.on("Debugger.paused", stopped);
  slot.input = callee;
  try {
    const expression = `${SLOT_EXPRESSION}.input${call === "next" ? ".next" : ""}()`;
    open.post("Runtime.evaluate", { expression, silent: true }, () => {});
  } finally {
    slot.input = undefined;
    open.off("Debugger.paused", stopped);
    post("Debugger.removeBreakpoint", { breakpointId });
  }
  if (failures.length > 0) throw failures[0];
  return isStopped;
}

function evaluateInside(callFrameId: string, expression: string): unknown {
  const { exceptionDetails } = post("Debugger.evaluateOnCallFrame", {
    callFrameId,
    expression: `void (${SLOT_EXPRESSION}.output = (${expression}))`,
    silent: true,
  }) as { exceptionDetails?: inspector.Runtime.ExceptionDetails };
  const value = slot.output;
  slot.output = undefined;
  if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return value;
}

/** Names the value given to `giving` inside an expression for `evaluateInside`. */
export const GIVEN = `${SLOT_EXPRESSION}.input`;

/** Runs `use` while the expression `GIVEN` stands for this value. */
export function giving<Result>(value: unknown, use: () => Result): Result {
  const before = slot.input;
  slot.input = value;
  try {
    return use();
  } finally {
    slot.input = before;
  }
}
