/**
 * Values that every Node.js process has: the language's globals and their methods, web globals, members of built-in modules.
 *
 * Decides which objects travel by name. Owns two identity tables, built at first use. Touching a global can be expensive: a mere descriptor
 * of `FormData` loads a 40 ms library, and `localStorage` warns. So the language's own globals are listed, and the web's are looked up by
 * name when met. Called by `capture`; `revive` resolves the same paths.
 */
import module from "node:module";

const LANGUAGE_GLOBALS = (
  "Object Function Array Number Boolean String Symbol BigInt Math JSON Reflect Atomics Proxy Promise RegExp Date Map Set WeakMap WeakSet " +
  "WeakRef FinalizationRegistry Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError ArrayBuffer " +
  "SharedArrayBuffer DataView Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array Float32Array " +
  "Float64Array BigInt64Array BigUint64Array Float16Array Intl Iterator DisposableStack AsyncDisposableStack SuppressedError Temporal " +
  "parseInt parseFloat isNaN isFinite eval escape unescape encodeURI encodeURIComponent decodeURI decodeURIComponent URL URLSearchParams " +
  "Buffer setTimeout setInterval setImmediate clearTimeout clearInterval clearImmediate queueMicrotask structuredClone WebAssembly"
).split(" ");

const WEB_GLOBALS: ReadonlySet<string> = new Set(
  (
    "crypto performance navigator fetch Headers Request Response FormData WebSocket EventSource CloseEvent MessageEvent Event EventTarget " +
    "CustomEvent AbortController AbortSignal DOMException Blob File TextEncoder TextDecoder TextEncoderStream TextDecoderStream " +
    "ReadableStream WritableStream TransformStream CompressionStream DecompressionStream ByteLengthQueuingStrategy CountQueuingStrategy " +
    "BroadcastChannel MessageChannel MessagePort Performance Crypto CryptoKey SubtleCrypto atob btoa URLPattern"
  ).split(" "),
);

/** Globals that are instances: met by their tag. */
const INSTANCE_GLOBALS: Readonly<Record<string, string>> = {
  Crypto: "crypto",
  Performance: "performance",
  Navigator: "navigator",
};

/** Language values that no global name reaches. */
const INTRINSICS: Readonly<Record<string, object>> = {
  "%AsyncFunction%": (async () => {}).constructor,
  "%GeneratorFunction%": function* () {}.constructor,
  "%AsyncGeneratorFunction%": async function* () {}.constructor,
  "%TypedArray%": Object.getPrototypeOf(Int8Array) as object,
  "%IteratorPrototype%": Object.getPrototypeOf(Object.getPrototypeOf([].values())) as object,
};

const GLOBALS = globalThis as unknown as Record<string, unknown>;

let globalPaths: Map<object, string> | null = null;

export function isObjectLike(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** Reads a property without letting a getter's failure out. */
export function tryRead<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** The first path to a value counts. */
function adderTo<Path>(paths: Map<object, Path>): (value: unknown, path: Path) => void {
  return (value, path) => {
    if (isObjectLike(value) && !paths.has(value)) paths.set(value, path);
  };
}

function buildGlobalPaths(): Map<object, string> {
  const paths = new Map<object, string>();
  const add = adderTo(paths);
  const addFunctionsOf = (owner: unknown, path: string): void => {
    if (!isObjectLike(owner)) return;
    for (const name of Object.getOwnPropertyNames(owner)) {
      const value = Object.getOwnPropertyDescriptor(owner, name)?.value;
      if (typeof value === "function") add(value, `${path}.${name}`);
    }
  };
  add(globalThis, "globalThis");
  add(process, "process");
  add(process.env, "process.env");
  add(console, "console");
  const names = LANGUAGE_GLOBALS.filter((name) => Object.hasOwn(GLOBALS, name));
  const prototypes = new Map<string, unknown>();
  for (const name of names) {
    const value = tryRead(() => GLOBALS[name]);
    add(value, name);
    addFunctionsOf(value, name);
    const prototype = tryRead(() => (value as { prototype?: unknown }).prototype);
    if (isObjectLike(prototype)) prototypes.set(`${name}.prototype`, prototype);
  }
  for (const [path, prototype] of prototypes) {
    add(prototype, path);
    addFunctionsOf(prototype, path);
  }
  for (const [path, value] of Object.entries(INTRINSICS)) add(value, path);
  return paths;
}

/** The path of a global or of a method of one, such as `Math.max` or `Array.prototype.slice`. */
export function globalPathOf(value: object): string | undefined {
  globalPaths ??= buildGlobalPaths();
  const known = globalPaths.get(value);
  if (known !== undefined) return known;
  const name = typeof value === "function" ? value.name : webInstanceName(value);
  if (!name || !WEB_GLOBALS.has(name)) return undefined;
  return tryRead(() => GLOBALS[name]) === value ? name : undefined;
}

function webInstanceName(value: object): string | undefined {
  const tag = tryRead(() => (value as Record<symbol, unknown>)[Symbol.toStringTag]);
  return typeof tag === "string" ? INSTANCE_GLOBALS[tag] : undefined;
}

/** The built-in of this realm with the name of one from another (a vm context, a test runner's sandbox). */
export function sameGlobalOfThisRealm(name: string): unknown {
  return LANGUAGE_GLOBALS.includes(name) ? GLOBALS[name] : undefined;
}

/** @throws Error when this process has no such global */
export function globalAt(path: string): unknown {
  const intrinsic = INTRINSICS[path];
  if (intrinsic) return intrinsic;
  let value: unknown = globalThis;
  for (const name of path.split(".")) {
    if (!isObjectLike(value) || !(name in value)) throw new Error(`Cannot find the global ${path} on this process`);
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/** A built-in module's name, then the members that lead to the value. */
export type BuiltinPath = readonly [module: string, ...members: string[]];

/** Modules that a user never captures members of, or that warn or cost time when touched. */
const SKIPPED_BUILTINS = /^_|^(?:punycode|sys|inspector|wasi|trace_events|test)/;
const NAMESPACE_MEMBERS = /promises|posix|win32|constants/;

let builtinPaths: Map<object, BuiltinPath> | null = null;
let builtinsSeen = 0;

/** Only modules that this process has loaded already: nothing new is pulled in. */
export function builtinPathOf(value: object): BuiltinPath | undefined {
  const loaded = (process as unknown as { moduleLoadList: string[] }).moduleLoadList;
  if (!builtinPaths || loaded.length !== builtinsSeen) {
    builtinPaths = buildBuiltinPaths(new Set(loaded));
    builtinsSeen = loaded.length;
  }
  return builtinPaths.get(value);
}

function buildBuiltinPaths(loaded: ReadonlySet<string>): Map<object, BuiltinPath> {
  const paths = new Map<object, BuiltinPath>();
  const add = adderTo(paths);
  for (const id of module.builtinModules) {
    if (!loaded.has(`NativeModule ${id}`) || SKIPPED_BUILTINS.test(id)) continue;
    const exports = tryRead(() => process.getBuiltinModule(`node:${id}`)) as unknown;
    if (!isObjectLike(exports)) continue;
    add(exports, [id]);
    for (const name of Object.keys(exports)) {
      const member: unknown = Object.getOwnPropertyDescriptor(exports, name)?.value;
      add(member, [id, name]);
      if (typeof member !== "object" || member === null || !NAMESPACE_MEMBERS.test(name)) continue;
      for (const inner of Object.keys(member)) {
        const value = (member as Record<string, unknown>)[inner];
        if (typeof value === "function") add(value, [id, name, inner]);
      }
    }
  }
  return paths;
}

export function builtinAt([id, ...members]: BuiltinPath): unknown {
  let value: unknown = process.getBuiltinModule(`node:${id}`);
  for (const name of members) value = (value as Record<string, unknown>)[name];
  return value;
}

/** The CommonJS modules of this process, by file. */
function commonJsModules(): Readonly<Record<string, { exports?: unknown } | undefined>> {
  return (module as unknown as { _cache?: ReturnType<typeof commonJsModules> })._cache ?? {};
}

/** Whether `file` was loaded as a CommonJS module. */
export function isCommonJsModule(file: string): boolean {
  return commonJsModules()[file] !== undefined;
}

/** The CommonJS module whose whole `exports` is this value. */
export function commonJsFileOf(value: object): string | undefined {
  const modules = commonJsModules();
  return Object.keys(modules).find((file) => modules[file]?.exports === value);
}

/** The member of a CommonJS module that is this value: `null` for the whole `exports`, `undefined` for no member. */
export function commonJsMember(value: object, file: string): string | null | undefined {
  const exports = commonJsModules()[file]?.exports;
  if (exports === value) return null;
  if (!isObjectLike(exports)) return undefined;
  return Object.keys(exports).find((name) => tryRead(() => (exports as Record<string, unknown>)[name]) === value);
}
