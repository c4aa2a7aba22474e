/**
 * Results of many values as an async iterator that works ahead: values are begun before their results are requested, within a window.
 *
 * Decides how far ahead to work (`window`, asked anew each time), the order of results, and the effect of an early end: values that were
 * not begun are never begun, and the source is closed. A failed result ends the iteration at its place. Nothing happens before the first
 * `next()`.
 */
import type { Ticket } from "./roster.ts";

export type AnyIterable<T> = Iterable<T> | AsyncIterable<T>;

interface ReadAheadOptions<V, R> {
  /** Begins one value. */
  readonly begin: (value: V) => Ticket<R>;
  /** How many values may have been begun whose results were not taken. */
  readonly window: () => number;
  /** Results in the order of the values, or in order of completion. */
  readonly ordered: boolean;
}

interface Begun<R> {
  readonly ticket: Ticket<R>;
  isSettled: boolean;
}

export async function* readAhead<V, R>(values: AnyIterable<V>, options: ReadAheadOptions<V, R>): AsyncGenerator<R, void, undefined> {
  const source = iteratorOf(values);
  const open: Begun<R>[] = [];
  /** The value requested from an async source and not delivered yet. */
  let asked: Promise<void> | undefined;
  const end: { isReached: boolean; failure?: { error: unknown } } = { isReached: false };
  let wake: () => void = () => {};

  const take = (step: IteratorResult<V>): void => {
    if (step.done === true) {
      end.isReached = true;
      return;
    }
    const begun: Begun<R> = { ticket: options.begin(step.value), isSettled: false };
    const settled = (): void => {
      begun.isSettled = true;
      wake();
    };
    begun.ticket.result.then(settled, settled);
    open.push(begun);
  };
  const fill = (): void => {
    while (!end.isReached && asked === undefined && open.length < Math.max(1, options.window())) {
      const step = source.next();
      if (!(step instanceof Promise)) {
        take(step);
        continue;
      }
      asked = step.then(take, (error: unknown) => {
        end.isReached = true;
        end.failure = { error };
      });
      void asked.then(() => {
        asked = undefined;
        wake();
      });
    }
  };

  try {
    for (;;) {
      fill();
      const index = options.ordered ? (open[0]?.isSettled === true ? 0 : -1) : open.findIndex((begun) => begun.isSettled);
      const next = open[index];
      if (next !== undefined) {
        open.splice(index, 1);
        yield await next.ticket.result;
        continue;
      }
      if (end.isReached && open.length === 0) {
        if (end.failure !== undefined) throw end.failure.error;
        return;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    for (const { ticket } of open) ticket.drop();
    if (!end.isReached) void source.return?.();
  }
}

function iteratorOf<V>(values: AnyIterable<V>): { next(): IteratorResult<V> | Promise<IteratorResult<V>>; return?(): unknown } {
  const asAsync = (values as AsyncIterable<V>)[Symbol.asyncIterator];
  return typeof asAsync === "function" ? asAsync.call(values) : (values as Iterable<V>)[Symbol.iterator]();
}

/** @throws TypeError when it cannot be iterated over */
export function requireIterable(values: unknown, action: string): void {
  const isIterable =
    values !== null &&
    values !== undefined &&
    (typeof (values as Iterable<unknown>)[Symbol.iterator] === "function" || isAsyncIterable(values));
  if (!isIterable) throw new TypeError(`Cannot ${action}: an array or another iterable of values is needed: received ${typeof values}`);
}

function isAsyncIterable(values: unknown): boolean {
  return typeof (values as AsyncIterable<unknown>)[Symbol.asyncIterator] === "function";
}
