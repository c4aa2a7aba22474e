/**
 * Writes and reads special types inside values: handles of actors, remote functions and classes, registered classes.
 *
 * Each becomes a kind number and plain data (`serializer.ts`, KIND), and is made again from them. The value also announces their needs at the receiver: a definition
 * or a counted reference.
 */
import { SerializationError, ShoalError } from "../../../runtime/base/errors.ts";
import type { ActorId } from "../../../runtime/base/ids.ts";
import type { ActorInterfaceHeader } from "../../../runtime/wire/messages.ts";
import { wellKnownId } from "../../../runtime/closure/values/well-known.ts";
import type { Reduced } from "../../../runtime/wire/value/encode.ts";
import { actorClassState, makeActorClass } from "../../actors/actor-class.ts";
import { actorHandleState, receivedHandle } from "../../actors/actor-handle.ts";
import { ArrowData, NdArray, ndArrayFrom, ndArrayPayload, Tensor, tensorFrom, tensorPayload } from "./foreign-data.ts";
import { exactFrom, namedFrom, originOf, tupleFrom } from "../python/python-origins.ts";
import { PythonKeywords, PythonObject, pythonObjectPayload, PythonValue, type PythonValueType } from "../python/python-values.ts";
import { interfaceFromWire, interfaceToWire } from "../../actors/actor-interface.ts";
import type { FunctionRow } from "../../calls/definitions/function-table.ts";
import { isObjectRefGenerator } from "../../streams/object-ref-generator.ts";
import { resolveActorOptions, resolveTaskOptions } from "../../options/options.ts";
import { groupPayload, receivedGroup } from "../../groups/placement-group.ts";
import { registeredFor } from "./registered-serializers.ts";
import { temporalFrom, temporalPayload } from "./temporal-values.ts";
import { makeRemoteFunction, remoteFunctionState } from "../../calls/definitions/remote-function.ts";
import type { Runtime } from "../../runtime.ts";
import { type ContextFacts, contextFrom, factsOf } from "../../context/runtime-context.ts";
import { KIND, type Reducer } from "../../serializer.ts";

type ActorClassPayload = [
  id: string,
  name: string,
  methods: readonly string[],
  streaming: readonly string[],
  options: Readonly<Record<string, unknown>>,
  reference?: number,
];

export function createReducer(runtime: Runtime): Reducer {
  const localFunctions = new LocalFunctions();
  return {
    reduce: (value) => {
      if (isObjectRefGenerator(value)) {
        throw new SerializationError("Cannot send a stream: it is read in the process that made the call", {
          reason: "a stream is read once, by its caller",
          hint: "Send its values, or the references that stream.refs() yields.",
        });
      }
      const handle = actorHandleState(value);
      if (handle !== undefined) return reduceHandle(runtime, handle);
      if (typeof value !== "function") return reduceData(value) ?? reduceRegistered(runtime, value);
      const remote = reduceRemote(runtime, value);
      if (remote !== undefined) return remote;
      // In-process mode passes functions as they are.
      if (runtime.options.mode !== "inProcess") return undefined;
      return { kind: KIND.LOCAL, payload: localFunctions.idOf(value, runtime.options.checkLocal) };
    },
    revive: (kind, payload, held) => {
      switch (kind) {
        case KIND.ACTOR: {
          const [id, header] = payload as [ActorId, ActorInterfaceHeader];
          const client = runtime.actors.client(id, header.className, { watch: true });
          return receivedHandle(runtime, client, interfaceFromWire(header));
        }
        case KIND.REMOTE_FUNCTION: {
          const [id, name, options] = payload as [string, string, Record<string, unknown>];
          return makeRemoteFunction({ source: undefined, id, name, options: resolveTaskOptions(options), held });
        }
        case KIND.ACTOR_CLASS: {
          const [id, name, methods, streaming, options] = payload as ActorClassPayload;
          return makeActorClass({ source: undefined, id, name, methods, streaming, options: resolveActorOptions(options), held });
        }
        case KIND.REGISTERED: {
          const [id, data] = payload as [string, unknown];
          const deserialize = runtime.values.definitions.ready(id) as ((data: unknown) => unknown) | undefined;
          if (deserialize === undefined) throw new Error("Cannot read a value: the deserializer of its class has not arrived");
          return deserialize(data);
        }
        case KIND.PLACEMENT_GROUP:
          return receivedGroup(payload);
        case KIND.CONTEXT:
          return contextFrom(payload as ContextFacts);
        case KIND.PYTHON_NAMED:
          // Its class is Python's to know: here it is the plain value.
          runtime.serializer.hooks.origin = originOf;
          return namedFrom(kind, payload);
        case KIND.PYTHON_TUPLE:
          runtime.serializer.hooks.origin = originOf;
          return tupleFrom(kind, payload);
        case KIND.PYTHON_EXACT:
          runtime.serializer.hooks.origin = originOf;
          return exactFrom(kind, payload);
        case KIND.LOCAL:
          return localFunctions.get(payload as number);
        default:
          return reviveData(kind, payload);
      }
    },
  };
}

/** Makes values that need nothing of the runtime. @throws RangeError for a kind that nobody sends */
function reviveData(kind: number, payload: unknown): unknown {
  switch (kind) {
    case KIND.ND_ARRAY:
      return ndArrayFrom(payload);
    case KIND.ARROW:
      return new ArrowData(payload as Uint8Array);
    case KIND.TENSOR:
      return tensorFrom(payload);
    case KIND.PYTHON_TEXT:
      return new PythonValue(...(payload as [PythonValueType, string]));
    case KIND.TEMPORAL:
      return temporalFrom(payload);
    case KIND.PYTHON_KEYWORDS:
      return keywordsFrom(payload);
    case KIND.PYTHON_OBJECT:
      return PythonObject.from(payload);
    default:
      throw new RangeError(`Cannot read a value: its kind is unknown: received ${kind}`);
  }
}

/** @throws TypeError for names without values, which only Python reads */
function keywordsFrom(payload: unknown): PythonKeywords {
  const [names, values] = payload as [readonly string[], (readonly unknown[])?];
  if (!Array.isArray(names) || !Array.isArray(values)) throw new TypeError("Cannot read arguments by name: only Python has them");
  return new PythonKeywords(Object.fromEntries(names.map((name, index) => [name, values[index]])));
}

/** Functions that in-process mode passes unchanged, each under a number. */
class LocalFunctions {
  readonly #functions = new Map<number, object>();
  readonly #ids = new WeakMap<object, number>();

  idOf(value: object, check: ((source: object) => void) | undefined): number {
    let id = this.#ids.get(value);
    if (id === undefined) {
      check?.(value);
      id = this.#functions.size + 1;
      this.#ids.set(value, id);
      this.#functions.set(id, value);
    }
    return id;
  }

  get(id: number): object | undefined {
    return this.#functions.get(id);
  }
}

function reduceHandle(runtime: Runtime, handle: NonNullable<ReturnType<typeof actorHandleState>>): Reduced {
  const { client, interface: face, entry } = handle;
  if (handle.runtime !== runtime) {
    throw new ShoalError(`Cannot use a handle of actor ${face.className}: its session has ended`, {
      reason: "the actor was created before Shoal was shut down in this process",
      hint: "Create the actor again after init().",
    });
  }
  runtime.serializer.collect(runtime.actors.refOf(client.resolved.id), entry);
  return { kind: KIND.ACTOR, payload: [client.resolved.id, interfaceToWire(face)] };
}

/** Values of Shoal's own classes that are plain data. */
function reduceData(value: object): Reduced | undefined {
  const group = groupPayload(value);
  if (group !== undefined) return { kind: KIND.PLACEMENT_GROUP, payload: group };
  const facts = factsOf(value);
  if (facts !== undefined) return { kind: KIND.CONTEXT, payload: facts };
  if (value instanceof NdArray) return { kind: KIND.ND_ARRAY, payload: ndArrayPayload(value) };
  if (value instanceof ArrowData) return { kind: KIND.ARROW, payload: value.stream };
  if (value instanceof Tensor) return { kind: KIND.TENSOR, payload: tensorPayload(value) };
  if (value instanceof PythonKeywords)
    return { kind: KIND.PYTHON_KEYWORDS, payload: [Object.keys(value.values), Object.values(value.values)] };
  const temporal = temporalPayload(value);
  if (temporal !== undefined) return { kind: KIND.TEMPORAL, payload: temporal };
  if (value instanceof PythonValue) return { kind: KIND.PYTHON_TEXT, payload: [value.type, value.text] };
  const pickled = pythonObjectPayload(value);
  return pickled === undefined ? undefined : { kind: KIND.PYTHON_OBJECT, payload: pickled };
}

function reduceRegistered(runtime: Runtime, value: object): Reduced | undefined {
  const registered = registeredFor(value);
  if (registered === undefined) return undefined;
  const exported = wellKnownId(registered.deserialize);
  if (exported !== undefined) {
    // Every process has it, by this name.
    runtime.serializer.collectDefinition(exported);
    runtime.values.definitions.provide(exported, registered.deserialize);
    return { kind: KIND.REGISTERED, payload: [exported, registered.serialize(value), null, registered.python ?? null] };
  }
  const row = runtime.values.functions.own(registered.deserialize, `deserialize ${registered.name}`);
  const reference = runtime.values.referenceOf(row);
  const isFirst = runtime.serializer.collectDefinition(row.id);
  const place = isFirst && reference !== undefined ? runtime.serializer.collect(reference.ref, reference.entry) : null;
  runtime.values.definitions.provide(row.id, registered.deserialize);
  // The last two are for Python, which holds the definition for later receivers.
  return { kind: KIND.REGISTERED, payload: [row.id, registered.serialize(value), place, registered.python ?? null] };
}

function reduceRemote(runtime: Runtime, value: object): Reduced | undefined {
  const remoteFunction = remoteFunctionState(value);
  if (remoteFunction !== undefined) {
    const row = runtime.values.functions.rowOf(remoteFunction);
    const reference = referenceIn(runtime, row);
    // After the capture the row knows the variable of a function without a name.
    return { kind: KIND.REMOTE_FUNCTION, payload: [row.id, row.name, withoutSignal(remoteFunction.options.given), ...reference] };
  }
  const actorClass = actorClassState(value);
  if (actorClass === undefined) return undefined;
  const row = runtime.values.functions.rowOf(actorClass);
  const { name, methods, streaming, options } = actorClass;
  const payload: ActorClassPayload = [row.id, name, methods, streaming, options.given, ...referenceIn(runtime, row)];
  return { kind: KIND.ACTOR_CLASS, payload };
}

/** Returns the place of a function's definition among the value's refs; the value holds that definition. */
function referenceIn(runtime: Runtime, row: FunctionRow): [reference?: number] {
  const reference = runtime.values.referenceOf(row);
  return reference === undefined ? [] : [runtime.serializer.collect(reference.ref, reference.entry)];
}

/** Returns a function's options without `signal`, which belongs to the process that can abort it. */
function withoutSignal(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { signal: _stays, ...travelling } = given;
  return travelling;
}
