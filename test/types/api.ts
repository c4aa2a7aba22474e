/**
 * What the type tests test: the core by its types alone, so that they hold before and apart from any implementation.
 *
 * `exactly<Expected>()(value)` compiles only when the value's type is that type, neither wider nor narrower nor `any`.
 */
import type {
  GetActorFunction,
  GetFunction,
  KillFunction,
  PutFunction,
  ReadyFunction,
  RemoteType,
  TerminateFunction,
  WaitFunction,
} from "../../src/core/types.ts";

export type * from "../../src/core/types.ts";

export declare const get: GetFunction;
export declare const put: PutFunction;
export declare const wait: WaitFunction;
export declare const remote: RemoteType;
export declare const getActor: GetActorFunction;
export declare const ready: ReadyFunction;
export declare const terminate: TerminateFunction;
export declare const kill: KillFunction;

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

export declare function exactly<Expected>(): <Actual>(
  value: Actual,
  ...isNot: Same<Actual, Expected> extends true ? [] : [expected: Expected]
) => void;
