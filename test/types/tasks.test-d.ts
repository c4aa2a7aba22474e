/** Tasks: arguments and results of a remote function. */
import { exactly, get, type ObjectRef, type ObjectRefGenerator, put, type RemoteFunction, remote } from "./api.ts";

declare const numberRef: ObjectRef<number>;
declare const textRef: ObjectRef<string>;

// --- Arguments ---------------------------------------------------------------------------------------------------------

const add = remote((a: number, b: number) => a + b);
exactly<RemoteFunction<[a: number, b: number], number>>()(add);
exactly<ObjectRef<number>>()(add.remote(1, 2));
add.remote(numberRef, 2);
add.remote(add.remote(1, numberRef), put(3));
// @ts-expect-error: too few arguments
add.remote(1);
// @ts-expect-error: too many arguments
add.remote(1, 2, 3);
// @ts-expect-error: an argument of another type
add.remote(1, "2");
// @ts-expect-error: a reference of another type
add.remote(1, textRef);
// @ts-expect-error: a promise is not sent
add.remote(1, Promise.resolve(2));
// @ts-expect-error: an array of references is not an array of values
remote((values: number[]) => values.length).remote([numberRef]);

const greet = remote((name: string, greeting = "hello", mark?: string) => `${greeting} ${name}${mark}`);
greet.remote("you");
greet.remote(textRef, textRef, textRef);
greet.remote("you", undefined, "!");
// @ts-expect-error: an optional parameter keeps its type
greet.remote("you", 5);

exactly<RemoteFunction<[x?: number | undefined], number>>()(remote((x = 1) => x));
// @ts-expect-error: a parameter without a type is not any
remote((x) => x);

const sum = remote((...values: number[]) => values.length);
exactly<ObjectRef<number>>()(sum.remote());
sum.remote(1, numberRef, 3);
sum.remote(...[1, 2, 3]);
sum.remote(...[numberRef, numberRef]);
// @ts-expect-error: a rest parameter keeps its type
sum.remote(1, "2");

const tagged = remote((first: string, ...pair: [number, boolean]) => `${first}${pair}`);
tagged.remote(textRef, numberRef, true);
// @ts-expect-error: one short
tagged.remote("a", 1);

// A reference stands for a union when its value is one of the members.
const union = remote((value: number | string | null) => value);
union.remote(numberRef);
union.remote(textRef);
union.remote(null);
const flag = remote((value: boolean) => value);
flag.remote(put(true));
flag.remote(put<boolean>(true));

// Functions and objects are values as others are.
remote((map: (x: number) => string) => map(1)).remote((x) => x.toFixed(1));
remote((options: { depth: number; names?: string[] }) => options.depth).remote({ depth: 1 });
// @ts-expect-error: a member of another type
remote((options: { depth: number }) => options.depth).remote({ depth: "1" });

// --- References as parameters ---------------------------------------------------------------------------------------------

// Inside other types they stay references.
const nested = remote(async (input: { ref: ObjectRef<number> }, [first]: [ObjectRef<string>]) => (await input.ref) + (await first).length);
exactly<ObjectRef<number>>()(nested.remote({ ref: numberRef }, [textRef]));
// @ts-expect-error: the member is a reference, not its value
nested.remote({ ref: 5 }, [textRef]);
nested.remote(put({ ref: numberRef }), [textRef]);
remote((refs: ObjectRef<number>[]) => refs.length).remote([numberRef, numberRef]);
remote((refs: Map<string, ObjectRef<number>>) => refs.size).remote(new Map([["a", numberRef]]));

// A top-level parameter that is declared as a reference would receive the value.
const direct = remote(async (ref: ObjectRef<number>) => await ref);
// @ts-expect-error: declare [ref] or { ref }
direct.remote(numberRef);
// @ts-expect-error: nor does the value fit
direct.remote(5);
const either = remote(async (value: number | ObjectRef<number>) => await value);
// @ts-expect-error: a union with a reference neither
either.remote(numberRef);
const optional = remote(async (ref?: ObjectRef<number>) => await ref);
// @ts-expect-error: an optional one neither
optional.remote(numberRef);

// --- Results --------------------------------------------------------------------------------------------------------------

exactly<ObjectRef<string>>()(remote(async () => "text").remote());
exactly<ObjectRef<string>>()(remote(() => Promise.resolve(Promise.resolve("text"))).remote());
exactly<ObjectRef<void>>()(remote(() => {}).remote());
exactly<ObjectRef<void>>()(remote(async () => {}).remote());
exactly<ObjectRef<undefined>>()(remote(() => undefined).remote());
exactly<ObjectRef<number | undefined>>()(remote((): number | undefined => 1).remote());
exactly<ObjectRef<string | number>>()(remote(async (): Promise<string | number> => 1).remote());
exactly<ObjectRef<string | number>>()(remote((): Promise<string> | number => 1).remote());
exactly<ObjectRef<any>>()(remote((): any => 1).remote());
exactly<ObjectRef<any>>()(remote(async (): Promise<any> => 1).remote());
exactly<ObjectRef<unknown>>()(remote((): unknown => 1).remote());
exactly<ObjectRef<never>>()(
  remote((): never => {
    throw new Error("always");
  }).remote(),
);
exactly<ObjectRef<never>>()(remote(async (): Promise<never> => Promise.reject(new Error("always"))).remote());
exactly<ObjectRef<(x: number) => string>>()(remote(() => (x: number) => `${x}`).remote());
exactly<ObjectRef<readonly [1, "a"]>>()(remote(() => [1, "a"] as const).remote());
exactly<ObjectRef<Map<string, Float64Array>>>()(remote((): Map<string, Float64Array> => new Map()).remote());

// A reference that is returned is its value; inside other types it stays a reference.
exactly<ObjectRef<number>>()(remote(() => numberRef).remote());
exactly<ObjectRef<number>>()(remote(async () => numberRef).remote());
exactly<ObjectRef<ObjectRef<number>[]>>()(remote(() => [numberRef]).remote());
exactly<ObjectRef<{ ref: ObjectRef<string> }>>()(remote(() => ({ ref: textRef })).remote());

// A generator is no value: its items are a stream (streams.test-d.ts).
exactly<ObjectRefGenerator<1>>()(
  remote(function* () {
    yield 1 as const;
  }).remote(),
);
exactly<ObjectRefGenerator<1>>()(
  remote(async function* () {
    yield 1 as const;
  }).remote(),
);

// --- any, never and unknown as parameters ------------------------------------------------------------------------------------

const anything = remote((value: any) => value);
anything.remote(5);
anything.remote(numberRef);
anything.remote({ deep: [numberRef] });
const whatever = remote((value: unknown) => typeof value);
whatever.remote(5);
whatever.remote(numberRef);
const impossible = remote((value: never) => value);
// @ts-expect-error: nothing is never
impossible.remote(5);
declare const untyped: any;
add.remote(untyped, untyped);
exactly<any>()(untyped.remote(1));

// --- numReturns ---------------------------------------------------------------------------------------------------------------

const divide = remote((a: number, b: number): [number, string] => [a / b, "rest"], { numReturns: 2 });
exactly<[ObjectRef<number>, ObjectRef<string>]>()(divide.remote(7, 2));
const [quotient, rest] = divide.remote(7, 2);
exactly<ObjectRef<number>>()(quotient);
exactly<ObjectRef<string>>()(rest);
exactly<[ObjectRef<number>, ObjectRef<string>]>()(remote(async (): Promise<[number, string]> => [1, "a"], { numReturns: 2 }).remote());
exactly<[ObjectRef<1>, ObjectRef<"a">]>()(remote(() => [1, "a"] as const, { numReturns: 2 }).remote());
exactly<ObjectRef<number>[]>()(remote((): number[] => [1, 2], { numReturns: 2 }).remote());
// Each item of several is a result: a reference there is its value.
exactly<[ObjectRef<number>, ObjectRef<string>]>()(remote((): [ObjectRef<number>, string] => [numberRef, "a"], { numReturns: 2 }).remote());
exactly<void>()(remote(() => 5, { numReturns: 0 }).remote());
exactly<ObjectRef<[number, string]>>()(remote((): [number, string] => [1, "a"]).remote());
exactly<ObjectRef<[number, string]>>()(remote((): [number, string] => [1, "a"], { numReturns: 1 }).remote());
exactly<ObjectRef<any>[]>()(remote((): any => [1, 2], { numReturns: 2 }).remote());
// A number that is known only at run time.
declare const count: number;
exactly<ObjectRef<unknown>[]>()(remote(() => [1, 2, 3], { numReturns: count }).remote());
// A tuple of another length, or no tuple.
exactly<never>()(remote((): [number, string] => [1, "a"], { numReturns: 3 }).remote());
exactly<never>()(remote(() => 5, { numReturns: 2 }).remote());

// options() is a copy: options without a new value stay.
const pair = remote((): [number, string] => [1, "a"]);
exactly<[ObjectRef<number>, ObjectRef<string>]>()(pair.options({ numReturns: 2 }).remote());
exactly<[ObjectRef<number>, ObjectRef<string>]>()(pair.options({ numReturns: 2 }).options({ name: "pair", numCpus: 2 }).remote());
exactly<ObjectRef<[number, string]>>()(pair.options({ numReturns: 2 }).options({ numReturns: 1 }).remote());
exactly<ObjectRef<[number, string]>>()(pair.remote());
exactly<RemoteFunction<[a: number, b: number], number>>()(add.options({ numGpus: 0.5 }));

// --- Generic and overloaded functions ---------------------------------------------------------------------------------------------

function identity<T>(value: T): T {
  return value;
}
exactly<ObjectRef<number>>()(remote(identity<number>).remote(5));
exactly<ObjectRef<string[]>>()(remote(identity<string[]>).remote(["a"]));
// @ts-expect-error: fixed by the instantiation expression
remote(identity<number>).remote("5");

function parse(text: string): number;
function parse(text: string, list: true): number[];
function parse(text: string, list?: true): number | number[] {
  return list ? [text.length] : text.length;
}
// For an overloaded function the last signature counts.
exactly<RemoteFunction<[text: string, list: true], number[]>>()(remote(parse));
// @ts-expect-error: the first signature is not seen
remote(parse).remote("5");

// --- Values that are not a task -------------------------------------------------------------------------------------------------------

// @ts-expect-error: use .remote()
add(1, 2);
// @ts-expect-error: use .remote()
new add(1, 2);
// @ts-expect-error: not a function
remote(5);
// @ts-expect-error: already remote
remote(add);
// @ts-expect-error: a reference is not its value
(add.remote(1, 2) satisfies ObjectRef<number>).toFixed();
// @ts-expect-error: the result is not a string
export const wrong: ObjectRef<string> = add.remote(1, 2);

// A remote function is a value: it can be passed on, captured and returned.
const apply = remote(async (f: RemoteFunction<[number], number>, value: number) => await f.remote(value));
apply.remote(
  remote((x: number) => x * 2),
  5,
);
exactly<ObjectRef<RemoteFunction<[a: number, b: number], number>>>()(remote(() => add).remote());
const fib = remote(async (n: number): Promise<number> => {
  const [a, b] = await get([fib.remote(n - 1), fib.remote(n - 2)]);
  return a + b;
});
exactly<RemoteFunction<[n: number], Promise<number>>>()(fib);
function twice<A extends unknown[], R>(f: (...args: A) => R): RemoteFunction<A, R> {
  return remote(f, { name: "twice" });
}
exactly<ObjectRef<number>>()(twice((x: number) => x).remote(numberRef));
