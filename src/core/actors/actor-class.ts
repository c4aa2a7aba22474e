/**
 * A remote class, which `remote(Class)` returns, and the creation of its actors.
 *
 * `.remote()` returns a handle at once: the arguments are encoded, and the creation goes to the node daemon once the refs among them have settled. A failed
 * creation (a taken name, a definition that cannot be sent) is an error of the call if it is known by then, and otherwise the actor's death.
 */
import { messageOf } from "../../runtime/base/texts/describe.ts";
import { insideLibrary } from "../../runtime/base/library-code.ts";
import type { ActorId } from "../../runtime/base/ids.ts";
import { payloadHeader, payloadParts } from "../../runtime/objects/payload.ts";
import { argumentsOf, whenSettled } from "../calls/call-record.ts";
import {
  type ActorCreateHeader,
  type ActorEnding,
  type ActorLookupReply,
  type ActorStateHeader,
  MESSAGE,
} from "../../runtime/wire/messages.ts";
import { createdHandle } from "./actor-handle.ts";
import { type ActorInterface, actorInterface, interfaceToWire, methodDefaults } from "./actor-interface.ts";
import { encodeArguments } from "../calls/call-arguments.ts";
import { parseLeaseSpec } from "../../runtime/scheduling/lease-spec.ts";
import { inheritedShape, placing } from "../calls/submission/inherited-place.ts";
import { requireRuntime } from "../current-runtime.ts";
import { isGeneratorFunction } from "../calls/definitions/generators.ts";
import { defineMembers } from "../../runtime/base/collections/define-members.ts";
import { bindNode } from "../graph-binder.ts";
import { type ResolvedActorOptions, resolveActorOptions } from "../options/options.ts";
import { inPython, isPythonId } from "../python/python-code.ts";
import type { Runtime } from "../runtime.ts";
import type { ActorOptions } from "../types/types.ts";
import { isWireError } from "../../runtime/wire/wire-error.ts";

type AnyClass = new (...args: never[]) => object;

interface ActorClassState {
  readonly source: AnyClass | undefined;
  id: string | undefined;
  readonly name: string;
  readonly methods: readonly string[];
  /** The methods that are generators. */
  readonly streaming: readonly string[];
  readonly options: ResolvedActorOptions;
  readonly interface: ActorInterface;
  /** Keeps the definition of a class that this process received. */
  readonly held?: object | undefined;
}

const states = new WeakMap<object, ActorClassState>();

export function actorClassState(value: object): ActorClassState | undefined {
  return states.get(value);
}

/** The methods of a class and its base classes; `Object.prototype`'s and the constructor are not among them. */
export function methodsOf(actorClass: AnyClass): string[] {
  const found = new Set<string>();
  for (
    let prototype = actorClass.prototype as object | null;
    prototype !== null && prototype !== Object.prototype;
    prototype = Object.getPrototypeOf(prototype) as object | null
  ) {
    for (const name of Object.getOwnPropertyNames(prototype)) {
      if (name !== "constructor" && typeof Object.getOwnPropertyDescriptor(prototype, name)?.value === "function") found.add(name);
    }
  }
  return Array.from(found);
}

/** The methods that stream, by how they are written. */
export function generatorMethodsOf(actorClass: AnyClass): string[] {
  return methodsOf(actorClass).filter((name) => isGeneratorFunction((actorClass.prototype as Record<string, unknown>)[name]));
}

export function makeActorClass(given: Omit<ActorClassState, "interface">): object {
  const isOpen = isPythonId(given.id);
  const facts = isOpen ? { ...given, options: inPython(given.options) } : given;
  const state: ActorClassState = { ...facts, interface: actorInterface(facts.name, { ...facts, isOpen }, facts.options) };
  const callable = function refuse(): never {
    throw new TypeError(`Cannot use ${state.name} directly: it is a remote class: use ${state.name}.remote()`);
  };
  Object.defineProperty(callable, "name", { value: state.name, configurable: true });
  defineMembers(callable, {
    bind: (...args: unknown[]): object => {
      const create = (...values: unknown[]): object => createActor(state, values);
      const numReturnsOf = (method: string): number => methodDefaults(state.interface, method).numReturns;
      return bindNode({ kind: "actor", name: state.name, methods: state.methods, numReturnsOf, args, create });
    },
    remote: (...args: unknown[]): object =>
      insideLibrary(() => {
        const handle = createActor(state, args);
        // The constructor begins even if this process computes now.
        requireRuntime().objects.channel.flushNow();
        return handle;
      }),
    options: (options: ActorOptions): object => makeActorClass({ ...state, options: resolveActorOptions(options, state.options) }),
  });
  states.set(callable, state);
  return callable;
}

function createActor(state: ActorClassState, args: readonly unknown[]): object {
  if (state.options.isDetached && state.options.name === undefined)
    throw new TypeError(`Cannot create actor ${state.name}: with lifetime "detached" it needs the option name, by which it is found again`);
  const runtime = requireRuntime();
  const { table, serializer, values } = runtime;
  const row = values.functions.rowOf(state);
  values.functions.prepare(row);
  const reference = values.referenceOf(row);
  const encoded = encodeArguments(args, { ...runtime.options, table, serializer }, row);
  const actorId = runtime.options.ids.actorId();
  const client = runtime.actors.client(actorId, state.name, { watch: false, isOwn: !state.options.isDetached });
  const { options, interface: face } = state;
  const shape = placing.isInherited ? inheritedShape(options, runtime.environments) : options.shape;
  const group = shape === options.shape ? options.placementGroupId : parseLeaseSpec(shape).bundle?.group;
  const handle = createdHandle(runtime, client, face);
  // A handle may be let go of while the arguments are pending; that must not overtake the creation.
  const held = runtime.actors.held.entryOf(actorId);
  table.pin(held);
  // After the answer the node holds everything that an incarnation needs.
  if (reference !== undefined) table.pin(reference.entry);
  const unpin = (): void => {
    for (const entry of encoded.pinned) table.unpin(entry);
    if (reference !== undefined) table.unpin(reference.entry);
  };
  const send = (): void => {
    const failed = encoded.dependencies.find((entry) => entry.state === "failed");
    if (failed !== undefined) {
      void values.failureOf(failed).then((failure) => {
        client.constructorError = failure;
        client.stateChanged(neverCreated(actorId, "notCreated", "an argument of its constructor failed"));
        unpin();
      });
      table.unpin(held);
      return;
    }
    const given = argumentsOf(encoded);
    // An actor that may start again holds its class, like the refs in its arguments.
    const payload = reference === undefined ? given : { ...given, refs: [...given.refs, reference.ref] };
    const deps = encoded.dependencies.map((entry) => runtime.table.payloadFor(entry));
    const header: ActorCreateHeader = {
      actorId,
      definition: row.id,
      options: {
        name: options.name,
        namespace: options.namespace ?? runtime.options.namespace,
        getIfExists: options.getIfExists,
        resources: options.resources,
        shape,
        group,
        maxRestarts: options.maxRestarts,
        isDetached: options.isDetached,
        interface: interfaceToWire(face),
      },
      args: payloadHeader(payload),
      deps: deps.map(payloadHeader),
    };
    const parts = [payload, ...deps].flatMap(payloadParts);
    const created = runtime.daemon.request(MESSAGE.ACTOR_CREATE, header, { parts, timeoutMs: 0 }).then(
      (reply) => adoptExisting(runtime, client, actorId, reply.header),
      (error: unknown) => {
        const ending = isWireError(error, "nameTaken") ? "nameTaken" : "notCreated";
        const refused = neverCreated(actorId, ending, messageOf(error));
        // The actor's calls fail with this error. Without calls, only a warning shows that the second actor does not exist.
        if (ending === "nameTaken" && client.pendingCount === 0) runtime.options.onWarning(nameTakenWarning(state.name, refused));
        client.stateChanged(refused);
      },
    );
    void created.then(unpin);
    table.unpin(held);
  };
  whenSettled(encoded.dependencies, table, send);
  return handle;
}

/** `getIfExists` found one: this handle's calls go to it. */
function adoptExisting(runtime: Runtime, client: ReturnType<Runtime["actors"]["client"]>, asked: ActorId, found: ActorLookupReply): void {
  if (found.actorId === asked) return;
  client.redirectTo(runtime.actors.found(found));
  runtime.actors.held.redirected(asked, found.actorId);
}

function nameTakenWarning(className: string, { reason }: ActorStateHeader): string {
  return `Actor ${className} was not created: ${reason ?? ""}. Its calls will fail; choose another name, or set getIfExists to get the actor that has it.`;
}

function neverCreated(actorId: ActorId, ending: ActorEnding, reason: string): ActorStateHeader {
  return {
    actorId,
    phase: "dead",
    incarnation: 0,
    processId: undefined,
    address: undefined,
    pid: undefined,
    reason,
    ending,
    exit: undefined,
  };
}
