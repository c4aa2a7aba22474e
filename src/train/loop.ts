/** The loop of a trainer: a function of TypeScript that travels, or the name of one of Python. */
import type { RuntimeEnv } from "../core/index.ts";
import { describeValue, pythonCodeOf } from "../core/internal.ts";
import type { TrainLoop } from "./ranks/rank-actor.ts";

export type Loop =
  | { readonly kind: "typescript"; readonly fn: TrainLoop }
  | { readonly kind: "python"; readonly place: string; readonly name: string; readonly runtimeEnv: RuntimeEnv | undefined };

/** Checks a loop. @throws TypeError for any other value */
export function loopOf(value: unknown, trainer: string): Loop {
  const code = pythonCodeOf(value);
  if (code?.kind === "function") {
    const { runtimeEnv } = code.options as { runtimeEnv?: RuntimeEnv };
    return { kind: "python", place: code.place, name: code.name, runtimeEnv };
  }
  if (typeof value === "function" && code === undefined && typeof (value as { remote?: unknown }).remote !== "function")
    return { kind: "typescript", fn: value as TrainLoop };
  const hint = code === undefined ? "" : ": python.task names a function, python.actor a class";
  throw new TypeError(
    `Cannot set trainLoopPerWorker of ${trainer}: a function, or python.task("train.py", "train_loop"), is needed${hint}: received ${describeValue(value)}`,
  );
}
