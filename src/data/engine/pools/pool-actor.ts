/**
 * An actor of a pool: passes blocks through an instance of the user's class, and then through the further transforms of its chain.
 *
 * Each process makes the class once. `ChainActor` runs in the actor's process. `actorStart` gives the operator its side of the actor, and separates deaths, after
 * which another actor can do the same work, from errors that would come again.
 */
import {
  ActorDiedError,
  ActorUnavailableError,
  kill,
  type ObjectRef,
  type ObjectRefGenerator,
  OutOfMemoryError,
  put,
  ready,
  remote,
  terminate,
} from "../../../core/index.ts";
import type { Block, RowRange } from "../../blocks/block.ts";
import { BLOCKS_AHEAD_MAX } from "../../limits.ts";
import type { BlockRef } from "../operators/operator.ts";
import type { ActorPool } from "./compute.ts";
import type { BlockItems } from "../streams/running-streams.ts";
import { isCut, rangeOf } from "../tasks/cut-blocks.ts";
import { type BlockFacts, given, produce, slicesOf } from "../tasks/task.ts";
import { type Transform, unitRowsOf } from "../tasks/transform.ts";

/** The pool's side of one actor. */
export interface PoolActor {
  /** Resolves when its constructor has run. */
  readonly ready: Promise<void>;
  /** Begins a call that gives the blocks made of these. Calls run in their order. */
  run(inputs: readonly BlockRef[]): BlockItems;
  /** Whether an error of `ready` or of a call means that its process has died. */
  hasDied(error: unknown): Promise<boolean>;
  /** Ends it after its calls, or now. Resolves when its process is gone. */
  end(when: "after its calls" | "now"): Promise<void>;
}

/** Makes actors of one pool. */
export interface ActorStart {
  /** Starts an actor. @param numCpus - CPUs of the actor */
  start(numCpus: number): PoolActor;
  /** Rows that a call may have alone, after a death. Infinity: whole blocks. */
  readonly unitRows: number;
  /** No actor is started any more. */
  close(): void;
}

type UserClass = new (...args: readonly unknown[]) => { call?: unknown };

/** The side in the actor's process. The first transform of the chain has the user's class in place of a function. */
export class ChainActor {
  readonly #chain: readonly Transform[];

  constructor([first, ...others]: readonly Transform[], ...args: readonly unknown[]) {
    const { fn, name } = first as Extract<Transform, { fn: unknown }>;
    const instance = new (fn as unknown as UserClass)(...args);
    if (typeof instance.call !== "function")
      throw new TypeError(`Cannot run ${name}: a class of a transform has a method call(${argumentOf(first)})`);
    const { call } = instance;
    this.#chain = [{ ...first, fn: (value: never) => Reflect.apply(call, instance, [value]) as unknown } as Transform, ...others];
  }

  /** @param ranges - the rows of each block, or null for all */
  async *run(ranges: readonly RowRange[] | null, ...blocks: Block[]): AsyncGenerator<Block | BlockFacts, void, undefined> {
    yield* produce(given(ranges === null ? blocks : slicesOf(blocks, ranges)), this.#chain);
  }
}

function argumentOf(transform: Transform | undefined): string {
  return transform?.kind === "mapBatches" ? "batch" : "row";
}

export function actorStart(chain: readonly Transform[], name: string, pool: ActorPool): ActorStart {
  const { actorOptions, callOptions, constructorArgs } = pool;
  const run = { ...callOptions, highWaterMark: 2 * BLOCKS_AHEAD_MAX };
  const actorClass = remote(ChainActor, { ...actorOptions, methods: { run } });
  const chainRef = put(chain);
  return poolOf(name, {
    make: (numCpus) => actorClass.options({ numCpus }).remote(chainRef, ...constructorArgs),
    call: (actor, refs, inputs) => actor.run.options({ name }).remote(inputs.some(isCut) ? inputs.map(rangeOf) : null, ...refs),
    unitRows: unitRowsOf(chain),
    close: () => chainRef[Symbol.dispose](),
  });
}

/** How the actors of a pool are made and called. */
interface ActorMaker<A> {
  make(numCpus: number): A;
  call(actor: A, refs: readonly ObjectRef<Block>[], inputs: readonly BlockRef[]): ObjectRefGenerator<Block | BlockFacts>;
  /** As of {@link ActorStart}. */
  readonly unitRows: number;
  close(): void;
}

/** The actors of a pool whose class may be of either language. */
export function poolOf<A extends Parameters<typeof ready>[0]>(name: string, { make, call, unitRows, close }: ActorMaker<A>): ActorStart {
  return {
    unitRows,
    start: (numCpus) => {
      const actor = make(numCpus);
      return {
        ready: ready(actor).catch((error: unknown) => {
          throw error instanceof ActorDiedError && endingOf(error) === "constructorFailed" ? constructorError(name, error) : error;
        }),
        run: (inputs) =>
          call(
            actor,
            inputs.map((input) => input.ref),
            inputs,
          ).refs(),
        hasDied: async (error) => isDeath(error) && (await isDead(actor, error)),
        end: (when) => (when === "now" ? kill(actor) : terminate(actor)),
      };
    },
    close,
  };
}

function endingOf(error: ActorDiedError): unknown {
  return error.details?.["ending"];
}

function constructorError(name: string, { cause, details }: ActorDiedError): ActorDiedError {
  const message = cause instanceof Error ? cause.message : String(cause);
  return new ActorDiedError(`Cannot make an actor of ${name}: the constructor of its class failed: ${message}`, {
    reason: "its constructor failed",
    hint: "See the cause.",
    details,
    cause,
  });
}

/** Ends that come again with every new actor, or that are no deaths. */
const NEVER_MADE: ReadonlySet<unknown> = new Set(["constructorFailed", "notCreated", "nameTaken"]);

function isDeath(error: unknown): boolean {
  if (error instanceof ActorUnavailableError || error instanceof OutOfMemoryError) return true;
  return error instanceof ActorDiedError && !NEVER_MADE.has(endingOf(error));
}

/** A call may fail with the death of another actor, which the user's code had called. */
async function isDead(actor: Parameters<typeof ready>[0], error: unknown): Promise<boolean> {
  if (error instanceof ActorUnavailableError) return true;
  return ready(actor).then(
    () => false,
    () => true,
  );
}
