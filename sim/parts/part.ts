/**
 * The interface of a part of a simulated program: one feature of Shoal that a driver uses beside its tasks and actors, in steps drawn from
 * the seed.
 *
 * Parts draw from a separate random source, so that programs without parts stay as before. Each part checks its own results, and waits for
 * its own calls alone. No part keeps for ever a thing that another needs, so every program ends.
 */
import type { Random } from "../../soak/random.ts";
import type { Application } from "../application.ts";
import type { Driver } from "../node.ts";

export interface ProgramPart {
  /** Begins one more piece of work. */
  step(): void;
  /** Begins nothing any more, and releases the things kept between steps. */
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

/** Returns the error at the bottom of the errors that tell where. */
export function rootOf(error: unknown): Error {
  let cause = error as Error & { cause?: unknown };
  while (cause.name === "TaskError" && cause.cause instanceof Error) cause = cause.cause;
  return cause;
}

export function sleep(context: PartContext, ms: number): Promise<void> {
  return new Promise((resolve) => context.driver.process.schedule(ms, resolve));
}
