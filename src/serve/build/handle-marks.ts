/**
 * Bound deployments among the arguments of others: in the code that is kept they are marks, which name a deployment, and a replica puts handles in their place.
 *
 * Marks are plain data, so that the code of a deployment refers to nothing that could end.
 */
import { isPlainObject } from "../../core/internal.ts";

const MARK = "$shoal.serve.handle";

/** Names a deployment of an application. */
interface HandleMark {
  readonly app: string;
  readonly deployment: string;
  readonly streaming: readonly string[];
}

export function markOf(mark: HandleMark): object {
  return { [MARK]: mark };
}

/** Copies arguments and lets `change` replace values in arrays and plain objects at any depth. Pure data is not copied. */
export function replaceIn(value: unknown, change: (value: unknown) => unknown): unknown {
  const changed = change(value);
  if (changed !== value) return changed;
  if (Array.isArray(value)) {
    const copy = value.map((item) => replaceIn(item, change));
    return copy.some((item, index) => item !== value[index]) ? copy : value;
  }
  if (!isPlainObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, replaceIn(item, change)] as const);
  return entries.some(([key, item]) => item !== value[key]) ? Object.fromEntries(entries) : value;
}

/** The arguments with handles in place of marks. */
export function withHandles(args: readonly unknown[], handleOf: (state: object) => unknown): unknown {
  return replaceIn(args, (value) => {
    if (!isPlainObject(value) || !Object.hasOwn(value, MARK)) return value;
    return handleOf({ ...(value[MARK] as HandleMark), options: {} });
  });
}
