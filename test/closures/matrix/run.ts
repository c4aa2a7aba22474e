/** The matrix runs on the public API. Everything that a case sends goes through `run`. */
import { remote as makeRemote, shutdown } from "shoal";

type AnyFunction = (...parameters: never[]) => unknown;

/** Results are compared, not typed. */
interface Remote {
  // biome-ignore lint/suspicious/noExplicitAny: a case knows what it gets back.
  remote(...parameters: unknown[]): PromiseLike<any>;
}

export function remote(target: AnyFunction): Remote {
  return (makeRemote as unknown as (target: AnyFunction) => Remote)(target);
}

/** Runs a function on a worker. */
// biome-ignore lint/suspicious/noExplicitAny: a case knows what it gets back.
export async function run(target: AnyFunction, ...parameters: unknown[]): Promise<any> {
  return await remote(target).remote(...parameters);
}

export async function stop(): Promise<void> {
  await shutdown();
}
