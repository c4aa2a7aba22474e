/**
 * What a part of a simulated program is: one feature of Shoal that a driver uses beside its tasks and actors, in steps drawn from the seed.
 *
 * Parts draw from a random source of their own, so that programs without them are what they were. Each checks what it gets back itself, and waits only for what it has
 * made: no part holds something that another needs for ever, so that every program ends.
 */
import type { Random } from "../../soak/random.ts";
import type { Application } from "../application.ts";
import type { Driver } from "../node.ts";

export interface ProgramPart {
  /** One more thing is begun. */
  step(): void;
  /** Nothing is begun any more: what it keeps between steps is let go of. */
  end(): void;
}

export interface PartContext {
  readonly app: Application;
  readonly driver: Driver;
  readonly random: Random;
  /** Processes or connections end by fault in this run. */
  readonly hasFaults: boolean;
  readonly newKey: (kind: string) => string;
  /** Breaks the run, unless the driver has lost its node, which explains everything. */
  readonly violate: (text: string) => void;
  /** The program does not end before this has settled; a rejection breaks the run. */
  readonly track: (name: string, work: () => Promise<void>) => void;
}

/** The failures that deaths explain. */
export const CAUSED_BY_FAULTS: ReadonlySet<string> = new Set([
  "WorkerCrashedError",
  "OutOfMemoryError",
  "ActorDiedError",
  "ActorUnavailableError",
  "OwnerDiedError",
  "ObjectLostError",
  "ObjectReconstructionFailedError",
  "NodeDiedError",
]);

/** What was thrown at the bottom of the errors that tell where. */
export function rootOf(error: unknown): Error {
  let cause = error as Error & { cause?: unknown };
  while (cause.name === "TaskError" && cause.cause instanceof Error) cause = cause.cause;
  return cause;
}

export function sleep(context: PartContext, ms: number): Promise<void> {
  return new Promise((resolve) => context.driver.process.schedule(ms, resolve));
}
