/** Schedulers by their names. */
import type { TrialScheduler } from "../scheduler.ts";
import { FIFOScheduler } from "./fifo-scheduler.ts";

/** @throws RangeError for a name that no scheduler has */
export function createScheduler(name: string, _options: Record<string, unknown> = {}): TrialScheduler {
  if (name === "fifo") return new FIFOScheduler();
  throw new RangeError(`Cannot set scheduler of tuneConfig: there is no scheduler ${JSON.stringify(name)}: there is fifo`);
}
