/** The types of rows and batches: what functions of users are given, and what the rows of their results are. No code. */
import type { NdArray } from "../core/index.ts";
import type { ArrowTable } from "./arrow/arrow-batch.ts";
import type { Column } from "./blocks/column.ts";
import type { NumberArray } from "./blocks/vector.ts";

/** Any row: an object with an entry a column. */
export type AnyRow = Readonly<Record<string, any>>;

/** A column of a batch whose values are `T`: a typed array for numbers, else a {@link Column}. With nulls it is a `Column` in any case. */
export type BatchColumn<T> = [T] extends [number] ? NumberArray : [T] extends [bigint] ? BigInt64Array | BigUint64Array : Column<T>;

/** A batch in the format `columns`: an object with an entry a column. */
export type Batch<R> = { readonly [K in keyof R]: BatchColumn<R[K]> };

/** Columns that a function on batches may return, besides arrays of rows and Arrow tables. The first dimension of an `NdArray` counts the rows. */
export type AnyColumn = NdArray | NumberArray | BigInt64Array | BigUint64Array | readonly unknown[] | Column<unknown>;
export type AnyBatch = Readonly<Record<string, AnyColumn>> | readonly AnyRow[] | ArrowTable;

/** The value in each row of a column that a function returned. */
export type ColumnValue<C> = C extends NdArray
  ? NdArray
  : C extends NumberArray
    ? number
    : C extends BigInt64Array | BigUint64Array
      ? bigint
      : C extends Column<infer T>
        ? T
        : C extends readonly (infer T)[]
          ? T
          : never;

/** A column whose values are `T`, or null, as functions on columns may return it. */
export type ColumnOf<T> =
  | readonly (T | null)[]
  | Column<T | null>
  | ([T] extends [number] ? NumberArray : [T] extends [bigint] ? BigInt64Array | BigUint64Array : never);

/** The row type of a returned batch. */
export type RowOfBatch<B> = B extends ArrowTable
  ? AnyRow
  : B extends readonly (infer R)[]
    ? R
    : { -readonly [K in keyof B]: ColumnValue<B[K]> };

/** The row type of a function's result on batches: a batch, a promise of one, or an iterator of several. */
export type RowOfResult<O> =
  Awaited<O> extends infer B ? (B extends Generator<infer I> | AsyncGenerator<infer I> ? RowOfBatch<I> : RowOfBatch<B>) : never;

/** A class whose method `call` is a function of a transform. */
export type ClassOf<V, O> = new (...args: any) => { call: (value: V) => O };

/** The result of a class's method `call`. */
export type ResultOfCall<C extends ClassOf<never, unknown>> = ReturnType<InstanceType<C>["call"]>;

/** The row of what `call` of a class for `flatMap` returns. */
export type RowOfSeveral<S> = Awaited<S> extends infer I ? (I extends Iterable<infer U> | AsyncIterable<infer U> ? U : never) : never;

/** The result of a `flatMap` function. */
export type Several<U> = Iterable<U> | AsyncIterable<U> | Promise<Iterable<U>>;

/** The row of a zip. Names that come again get a number behind them, which only the values know. */
export type ZippedRow<R, O extends readonly unknown[]> = O extends readonly [infer First, ...infer Others]
  ? ZippedRow<R & RowWithout<First, keyof R>, Others>
  : R;

type RowWithout<D, Names extends PropertyKey> = D extends AsyncIterable<infer R> ? Omit<R, Names> : never;
