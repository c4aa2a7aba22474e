/** References and their values: `get`, `await`, `put` and `wait`. */
import {
  cancel,
  exactly,
  get,
  getObjectLocations,
  getRuntimeContext,
  kvExists,
  kvGet,
  kvList,
  kvPut,
  type ObjectLocations,
  type ObjectRef,
  put,
  remote,
  type ValueOf,
  wait,
} from "./api.ts";

declare const numberRef: ObjectRef<number>;
declare const textRef: ObjectRef<string>;
declare const anyRef: ObjectRef<any>;
declare const numberRefs: ObjectRef<number>[];
declare const untyped: any;

// --- get ---------------------------------------------------------------------------------------------------------------

exactly<Promise<number>>()(get(numberRef));
exactly<Promise<number>>()(get(numberRef, { timeoutMs: 100, signal: AbortSignal.timeout(5) }));
exactly<Promise<number[]>>()(get(numberRefs));
exactly<Promise<number[]>>()(get(numberRefs as readonly ObjectRef<number>[]));
exactly<Promise<[number, string]>>()(get([numberRef, textRef]));
exactly<Promise<[number, string]>>()(get([numberRef, textRef] as const));
exactly<Promise<[]>>()(get([]));
exactly<Promise<number[]>>()(get([1, 2].map((x) => remote((y: number) => y).remote(x))));
exactly<Promise<[string, ...number[]]>>()(get([textRef, ...numberRefs]));
exactly<Promise<any>>()(get(anyRef));
exactly<Promise<unknown>>()(get(numberRef as ObjectRef<unknown>));
exactly<Promise<string | number>>()(get(numberRef as ObjectRef<string> | ObjectRef<number>));
exactly<Promise<(string | number)[]>>()(get([] as (ObjectRef<string> | ObjectRef<number>)[]));
exactly<Promise<any>>()(get(untyped));
exactly<Promise<void>>()(get(remote(() => {}).remote()));
// @ts-expect-error: not a reference
get(5);
// @ts-expect-error: not all are references
get([numberRef, 5]);
// @ts-expect-error: a promise is not a reference
get(Promise.resolve(5));
// @ts-expect-error: the unit is in the name
get(numberRef, { timeout: 100 });
// @ts-expect-error: an option of another type
get(numberRef, { timeoutMs: "100" });

// --- await ---------------------------------------------------------------------------------------------------------------

exactly<number>()(await numberRef);
exactly<any>()(await anyRef);
exactly<[number, string]>()(await Promise.all([numberRef, textRef]));
exactly<string | number>()(await Promise.race([numberRef, textRef]));
exactly<string>()(await numberRef.then((value) => value.toFixed()));
exactly<{ ref: ObjectRef<number> }>()(await put({ ref: numberRef }));
exactly<number>()(null as unknown as ValueOf<typeof numberRef>);
exactly<string | number>()(null as unknown as ValueOf<typeof numberRef | typeof textRef>);
exactly<number | string>()(await numberRef.catch(() => "none"));
exactly<number>()(await numberRef.finally(() => {}));

// --- A reference itself --------------------------------------------------------------------------------------------------

exactly<string>()(`${numberRef.id}`);
numberRef.id satisfies string;
{
  using held = numberRef;
  exactly<ObjectRef<number>>()(held);
}
export const wider: ObjectRef<number | string> = numberRef;
// @ts-expect-error: the value may be a string
export const narrower: ObjectRef<number> = wider;
// @ts-expect-error: a promise is not a reference
export const promised: ObjectRef<number> = Promise.resolve(5);
// @ts-expect-error: what looks like a reference is not one
export const lookalike: ObjectRef<number> = { id: numberRef.id, then: numberRef.then, [Symbol.dispose]() {} };

// --- put -------------------------------------------------------------------------------------------------------------------

exactly<ObjectRef<number>>()(put(5 as number));
exactly<ObjectRef<Float64Array<ArrayBuffer>>>()(put(new Float64Array(8)));
exactly<ObjectRef<{ ref: ObjectRef<number> }>>()(put({ ref: numberRef }));
exactly<ObjectRef<ObjectRef<number>[]>>()(put(numberRefs));
exactly<ObjectRef<(x: number) => number>>()(put((x: number) => x));
exactly<ObjectRef<any>>()(put(untyped));
exactly<ObjectRef<unknown>>()(put(5 as unknown));
exactly<ObjectRef<undefined>>()(put(undefined));
// @ts-expect-error: a reference is not stored
put(numberRef);
// @ts-expect-error: nor what may be one
put(5 as number | ObjectRef<number>);
// @ts-expect-error: nor a promise: await it first
put(Promise.resolve(5));

// --- wait ------------------------------------------------------------------------------------------------------------------

exactly<Promise<[ready: ObjectRef<number>[], pending: ObjectRef<number>[]]>>()(wait(numberRefs));
exactly<Promise<[ready: ObjectRef<number>[], pending: ObjectRef<number>[]]>>()(
  wait(numberRefs as readonly ObjectRef<number>[], { numReturns: 2, timeoutMs: 1000, fetchLocal: false, signal: AbortSignal.abort() }),
);
const [ready, pending] = await wait([numberRef, textRef], { numReturns: 1 });
exactly<(ObjectRef<number> | ObjectRef<string>)[]>()(ready);
exactly<(ObjectRef<number> | ObjectRef<string>)[]>()(pending);
exactly<Promise<(string | number)[]>>()(get(ready));
// @ts-expect-error: several references, as an array
wait(numberRef);
// @ts-expect-error: values are not waited for
wait([1, 2]);
// @ts-expect-error: an unknown option
wait(numberRefs, { count: 1 });

// --- cancel ------------------------------------------------------------------------------------------------------------

exactly<void>()(cancel(numberRef));
cancel(anyRef, { force: true, recursive: false });
exactly<AbortSignal>()(getRuntimeContext().signal);
// @ts-expect-error: no reference
cancel(5);
// @ts-expect-error: several references are cancelled one by one
cancel(numberRefs);
// @ts-expect-error: an option of get
cancel(numberRef, { timeoutMs: 5 });

// --- Where values are -----------------------------------------------------------------------------------------------------

exactly<Promise<Map<ObjectRef<number>, ObjectLocations>>>()(getObjectLocations([numberRef]));
exactly<Promise<Map<ObjectRef<number> | ObjectRef<string>, ObjectLocations>>>()(getObjectLocations([numberRef, textRef], { timeoutMs: 5 }));
exactly<ObjectLocations | undefined>()((await getObjectLocations([numberRef])).get(numberRef));
// @ts-expect-error: several, in an array
getObjectLocations(numberRef);
// @ts-expect-error: not a reference
getObjectLocations([5]);

// --- Small values by name ----------------------------------------------------------------------------------------------

exactly<boolean>()(await kvPut("key", { a: [1, "b", null] }, { overwrite: false, namespace: "n" }));
exactly<boolean>()(await kvPut("key", new Uint8Array(3)));
exactly<unknown>()(await kvGet("key"));
exactly<number | undefined>()(await kvGet<number>("key", { namespace: "n" }));
exactly<boolean>()(await kvExists("key"));
exactly<string[]>()(await kvList());
// @ts-expect-error: nothing is no value
await kvPut("key", undefined);
// @ts-expect-error: JSON has no such numbers
await kvPut("key", 1n);
// @ts-expect-error: an option of kvPut
await kvGet("key", { overwrite: true });
