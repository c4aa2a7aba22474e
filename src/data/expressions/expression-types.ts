/**
 * The types of expressions, worked out by the compiler. No code.
 *
 * The type of a column is known only where the expression meets a dataset. So the type of an expression's values is a term, such as
 * `Strict<number, ColumnValue<"km">>`, and {@link ValueIn} resolves it for a type of rows: bigint arithmetic for columns of bigint, and null where an input may
 * be null.
 */
import type { NdArray } from "../../core/index.ts";

declare const term: unique symbol;

/** The value of a column. */
export interface ColumnValue<N extends string> {
  readonly [term]: "column";
  readonly name: N;
}

/** A `T`, or null where one of the inputs is null. */
export interface Strict<T, Inputs> {
  readonly [term]: "strict";
  readonly value: T;
  readonly inputs: Inputs;
}

/** The text of a decimal where one of the inputs is one, a bigint where one is one, else a number, or null where one of the inputs is null. */
export interface Arithmetic<Inputs> {
  readonly [term]: "arithmetic";
  readonly inputs: Inputs;
}

/** An element of a list, or null. */
export interface ElementOf<List> {
  readonly [term]: "element";
  readonly list: List;
}

/** A field of a struct, or null where the struct is. */
export interface FieldOf<Struct, F extends string> {
  readonly [term]: "field";
  readonly struct: Struct;
  readonly field: F;
}

/** A part of the value according to {@link Parts}, or null where the value is null. */
export interface PartOf<Value, Part extends keyof Parts<unknown>> {
  readonly [term]: "part";
  readonly value: Value;
  readonly part: Part;
}

/** Results of functions that return parts of the value. */
interface Parts<V> {
  /** The lists that are the elements of a list. */
  flattened: V extends ArrayLike<infer List> ? Exclude<List, null> : never;
  keys: V extends ArrayLike<infer Entry> ? FieldIn<Exclude<Entry, null>, "key">[] : never;
  values: V extends ArrayLike<infer Entry> ? FieldIn<Exclude<Entry, null>, "value">[] : never;
  /** An array of numbers as a list. */
  listed: V extends NdArray<infer A> ? NestedList<A extends BigInt64Array | BigUint64Array ? bigint : number> : V;
}

/** A list of values, or a list of such lists. */
export type NestedList<E> = (E | NestedList<E>)[];

/** The value of one, or of the other where that is null. */
export interface Filled<T, U> {
  readonly [term]: "filled";
  readonly value: T;
  readonly other: U;
}

/** The result that an aggregate makes of the values of a column, as {@link Gatherings} says. */
export interface Gathered<N extends string, As extends keyof Gatherings<unknown>> {
  readonly [term]: "gathered";
  readonly name: N;
  readonly as: As;
}

/** The results that aggregates make of values `V`, without null, of a group. */
interface Gatherings<V> {
  sum: SumOf<V> | null;
  extreme: V | null;
  list: V[];
  listWithNulls: (V | null)[];
  counts: ValueCounts<V>;
  frequent: FrequentValue<V>[];
}

/** Values and how often each comes, as two lists of equal lengths. */
export interface ValueCounts<T> {
  readonly values: T[];
  readonly counts: number[];
}

/** A value and how often it comes. */
export interface FrequentValue<T> {
  readonly value: T;
  readonly count: number;
}

type IsAny<T> = 0 extends 1 & T ? true : false;
type NullOf<T> = IsAny<T> extends true ? never : Extract<T, null>;
/** The text is that of a decimal. */
type NumberOf<T> =
  IsAny<T> extends true ? number : [Extract<T, string>] extends [never] ? ([Extract<T, bigint>] extends [never] ? number : bigint) : string;
/** The sum of values: bigints and the texts of decimals stay such, and of anything else it is a number. */
export type SumOf<V> = NumberOf<V>;
type FieldIn<V, F extends string> = IsAny<V> extends true ? any : V extends null ? null : F extends keyof V ? V[F] : never;
type ElementsOf<T> = T extends ArrayLike<infer E> ? E | null : null;

/** The type of a term's values in rows `R`. */
export type ValueIn<R, T> =
  IsAny<T> extends true
    ? T
    : T extends ColumnValue<infer N>
      ? N extends keyof R
        ? R[N]
        : never
      : T extends Strict<infer V, infer I>
        ? V | NullOf<ValueIn<R, I>>
        : T extends Arithmetic<infer I>
          ? NumberOf<ValueIn<R, I>> | NullOf<ValueIn<R, I>>
          : T extends ElementOf<infer L>
            ? IsAny<ValueIn<R, L>> extends true
              ? any
              : ElementsOf<ValueIn<R, L>>
            : T extends FieldOf<infer S, infer F>
              ? FieldIn<ValueIn<R, S>, F>
              : T extends Filled<infer V, infer U>
                ? Exclude<ValueIn<R, V>, null> | ValueIn<R, U>
                : T extends PartOf<infer V, infer P>
                  ? IsAny<ValueIn<R, V>> extends true
                    ? any
                    : Parts<Exclude<ValueIn<R, V>, null>>[P] | NullOf<ValueIn<R, V>>
                  : T extends Gathered<infer N, infer As>
                    ? N extends keyof R
                      ? Gatherings<IsAny<R[N]> extends true ? any : Exclude<R[N], null | undefined>>[As]
                      : string extends N
                        ? Gatherings<any>[As]
                        : never
                    : T;

/** The names of the groups of a regular expression, where it is written out as a text. */
export type GroupNames<P> = P extends `${string}(?<${infer Rest}`
  ? Rest extends `${"=" | "!"}${string}`
    ? GroupNames<Rest>
    : Rest extends `${infer Name}>${infer Others}`
      ? Name | GroupNames<Others>
      : never
  : P extends RegExp
    ? string
    : string extends P
      ? string
      : never;

/** The row with a column more, or with another one in its place. */
export type WithColumn<R, N extends string, V> = N extends keyof R ? Omit<R, N> & { [P in N]: V } : R & { [P in N]: V };

/** The row with columns more, or with others in their place. */
export type WithColumns<R, M> = Omit<R, keyof M> & {
  -readonly [P in keyof M]: M[P] extends { readonly term: infer T } ? ValueIn<R, T> : never;
};

/** The row with the fields of a struct as columns more, or in the place of others. */
export type WithFields<R, S> =
  IsAny<S> extends true
    ? Readonly<Record<string, any>>
    : Omit<R, keyof Exclude<S, null>> & { -readonly [F in keyof Exclude<S, null> & string]: FieldIn<S, F> };

/** The values of a type that `cast` takes by name. */
export type CastValue<K extends string> = K extends "string" | "dictionary<string>" | `decimal<${string}`
  ? string
  : K extends "binary" | "dictionary<binary>"
    ? Uint8Array
    : K extends "bool"
      ? boolean
      : K extends "date" | `timestamp[${string}]`
        ? Date
        : K extends `${string} as bigint` | `time64[${string}]` | `duration[${string}]`
          ? bigint
          : number;

/** The names of types that `cast` takes. */
export type CastName =
  | "int8"
  | "int16"
  | "int32"
  | "int64"
  | "int64 as bigint"
  | "uint8"
  | "uint16"
  | "uint32"
  | "uint64"
  | "uint64 as bigint"
  | "float32"
  | "float64"
  | "bool"
  | "string"
  | "binary"
  | "date"
  | "timestamp[s]"
  | "timestamp[ms]"
  | "timestamp[us]"
  | "timestamp[ns]"
  | "time32[s]"
  | "time32[ms]"
  | "time64[us]"
  | "time64[ns]"
  | "duration[s]"
  | "duration[ms]"
  | "duration[us]"
  | "duration[ns]"
  | "dictionary<string>"
  | "dictionary<binary>"
  | `decimal<${number}, ${number}>`;
