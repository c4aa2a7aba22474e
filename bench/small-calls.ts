/**
 * The functions and classes that the call figures share: a task, an actor and an async actor that answer with two
 * bytes, and clients that call them in batches from other processes. The shapes are those of Ray's microbenchmark,
 * as are the resources: plain actors reserve no CPU, tasks one. `ray/small_calls.py` is the twin.
 */
import { availableParallelism } from "node:os";
import { type ActorClass, type ActorHandle, get, type ObjectRef, put, type RemoteFunction, remote } from "shoal";

/** Calls in flight in the figures that are called "async" or "pipelined". */
export const BATCH_SIZE = 1000;

/** Ray's n:n figures use half of the cores for the actors that are called; one where there are only two cores. */
export const SERVERS_COUNT: number = Math.max(1, Math.floor(availableParallelism() / 2));

export const smallValue: RemoteFunction<[], Uint8Array> = remote(() => Uint8Array.of(0x6f, 0x6b));

export const smallValues: RemoteFunction<[number], Generator<Uint8Array>> = remote(function* (count: number): Generator<Uint8Array> {
  for (let index = 0; index < count; index++) yield Uint8Array.of(0x6f, 0x6b);
});

export class SmallValueActor {
  smallValue(): Uint8Array {
    return Uint8Array.of(0x6f, 0x6b);
  }

  smallValueOf(_argument: unknown): Uint8Array {
    return Uint8Array.of(0x6f, 0x6b);
  }

  /** Runs in the actor, which thereby is one of several clients that submit tasks. */
  async submitTasks(count: number): Promise<void> {
    await get(Array.from({ length: count }, () => smallValue.remote()));
  }
}

/**
 * Each side runs this as it does by default: Ray lets up to 1,000 calls of an async actor overlap, ours end one call
 * before the next begins. The method waits for nothing, so there is nothing for calls to overlap in.
 *
 * @public Travels as an export of this module.
 */
export class AsyncSmallValueActor {
  async smallValue(): Promise<Uint8Array> {
    return Uint8Array.of(0x6f, 0x6b);
  }
}

/** @public Travels as an export of this module. */
export class ActorClient {
  server: ActorHandle<SmallValueActor>;

  constructor(server: ActorHandle<SmallValueActor>) {
    this.server = server;
  }

  async callWithRef(count: number): Promise<void> {
    const argument: ObjectRef<number> = put(0);
    await get(Array.from({ length: count }, () => this.server.smallValueOf.remote(argument)));
  }
}

export const SmallValueActorClass: ActorClass<typeof SmallValueActor> = remote(SmallValueActor, { numCpus: 0 });
export const AsyncSmallValueActorClass: ActorClass<typeof AsyncSmallValueActor> = remote(AsyncSmallValueActor);
export const ActorClientClass: ActorClass<typeof ActorClient> = remote(ActorClient, { numCpus: 0 });
