"use strict";
var __importDefault =
  (this && this.__importDefault) ||
  function (mod) {
    return mod && mod.__esModule ? mod : { default: mod };
  };
Object.defineProperty(exports, "__esModule", { value: true });
exports.tryRead = tryRead;
exports.globalPathOf = globalPathOf;
exports.sameGlobalOfThisRealm = sameGlobalOfThisRealm;
exports.globalAt = globalAt;
exports.builtinPathOf = builtinPathOf;
exports.builtinAt = builtinAt;
exports.isCommonJsModule = isCommonJsModule;
exports.commonJsFileOf = commonJsFileOf;
exports.commonJsMember = commonJsMember;
/**
 * Values that every Node.js process has: the language's globals and their methods, web globals, members of built-in modules.
 *
 * Decides which objects travel by name. Owns two identity tables, built at first use. Touching a global can be expensive
 * (a mere descriptor of `FormData` loads a 40 ms library, `localStorage` warns), so the language's own are listed and the web's are
 * looked up by name when one is met. Called by `capture`; `revive` resolves the same paths.
 */
const node_module_1 = __importDefault(require("node:module"));
const LANGUAGE_GLOBALS = (
  "Object Function Array Number Boolean String Symbol BigInt Math JSON Reflect Atomics Proxy Promise RegExp Date Map Set WeakMap WeakSet " +
  "WeakRef FinalizationRegistry Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError ArrayBuffer " +
  "SharedArrayBuffer DataView Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array Float32Array " +
  "Float64Array BigInt64Array BigUint64Array Float16Array Intl Iterator DisposableStack AsyncDisposableStack SuppressedError Temporal " +
  "parseInt parseFloat isNaN isFinite eval escape unescape encodeURI encodeURIComponent decodeURI decodeURIComponent URL URLSearchParams " +
  "Buffer setTimeout setInterval setImmediate clearTimeout clearInterval clearImmediate queueMicrotask structuredClone WebAssembly"
).split(" ");
const WEB_GLOBALS = new Set(
  (
    "crypto performance navigator fetch Headers Request Response FormData WebSocket EventSource CloseEvent MessageEvent Event EventTarget " +
    "CustomEvent AbortController AbortSignal DOMException Blob File TextEncoder TextDecoder TextEncoderStream TextDecoderStream " +
    "ReadableStream WritableStream TransformStream CompressionStream DecompressionStream ByteLengthQueuingStrategy CountQueuingStrategy " +
    "BroadcastChannel MessageChannel MessagePort Performance Crypto CryptoKey SubtleCrypto atob btoa URLPattern"
  ).split(" "),
);
/** Globals that are instances: met by their tag. */
const INSTANCE_GLOBALS = {
  Crypto: "crypto",
  Performance: "performance",
  Navigator: "navigator",
};
/** Language values that no global name reaches. */
const INTRINSICS = {
  "%AsyncFunction%": (async () => {}).constructor,
  "%GeneratorFunction%": function* () {}.constructor,
  "%AsyncGeneratorFunction%": async function* () {}.constructor,
  "%TypedArray%": Object.getPrototypeOf(Int8Array),
  "%IteratorPrototype%": Object.getPrototypeOf(Object.getPrototypeOf([].values())),
};
let globalPaths = null;
function isObjectLike(value) {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}
/** Reads a property without letting a getter's failure out. */
function tryRead(read) {
  try {
    return read();
  } catch {
    return undefined;
  }
}
function buildGlobalPaths() {
  const paths = new Map();
  const add = (value, path) => {
    if (isObjectLike(value) && !paths.has(value)) paths.set(value, path);
  };
  const addFunctionsOf = (owner, path) => {
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
  const globals = globalThis;
  const names = LANGUAGE_GLOBALS.filter((name) => Object.hasOwn(globals, name));
  const prototypes = new Map();
  for (const name of names) {
    const value = tryRead(() => globals[name]);
    add(value, name);
    addFunctionsOf(value, name);
    const prototype = tryRead(() => value.prototype);
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
function globalPathOf(value) {
  globalPaths ??= buildGlobalPaths();
  const known = globalPaths.get(value);
  if (known !== undefined) return known;
  const name = typeof value === "function" ? value.name : webInstanceName(value);
  if (!name || !WEB_GLOBALS.has(name)) return undefined;
  return tryRead(() => globalThis[name]) === value ? name : undefined;
}
function webInstanceName(value) {
  const tag = tryRead(() => value[Symbol.toStringTag]);
  return typeof tag === "string" ? INSTANCE_GLOBALS[tag] : undefined;
}
/** The built-in of this realm with the name of one from another (a vm context, a test runner's sandbox). */
function sameGlobalOfThisRealm(name) {
  return LANGUAGE_GLOBALS.includes(name) ? globalThis[name] : undefined;
}
/** @throws Error when this process has no such global */
function globalAt(path) {
  const intrinsic = INTRINSICS[path];
  if (intrinsic) return intrinsic;
  let value = globalThis;
  for (const name of path.split(".")) {
    if (!isObjectLike(value) || !(name in value)) throw new Error(`Cannot find the global ${path} on this process`);
    value = value[name];
  }
  return value;
}
/** Modules whose members are never what a user captured, or that warn or cost time when touched. */
const SKIPPED_BUILTINS = /^_|^(?:punycode|sys|inspector|wasi|trace_events|test)/;
const NAMESPACE_MEMBERS = /promises|posix|win32|constants/;
let builtinPaths = null;
let builtinsSeen = 0;
/** Only modules that this process has loaded already: nothing new is pulled in. */
function builtinPathOf(value) {
  const loaded = process.moduleLoadList;
  if (!builtinPaths || loaded.length !== builtinsSeen) {
    builtinPaths = buildBuiltinPaths(new Set(loaded));
    builtinsSeen = loaded.length;
  }
  return builtinPaths.get(value);
}
function buildBuiltinPaths(loaded) {
  const paths = new Map();
  const add = (value, path) => {
    if (isObjectLike(value) && !paths.has(value)) paths.set(value, path);
  };
  for (const id of node_module_1.default.builtinModules) {
    if (!loaded.has(`NativeModule ${id}`) || SKIPPED_BUILTINS.test(id)) continue;
    const exports = tryRead(() => process.getBuiltinModule(`node:${id}`));
    if (!isObjectLike(exports)) continue;
    add(exports, [id]);
    for (const name of Object.keys(exports)) {
      const member = Object.getOwnPropertyDescriptor(exports, name)?.value;
      add(member, [id, name]);
      if (typeof member !== "object" || member === null || !NAMESPACE_MEMBERS.test(name)) continue;
      for (const inner of Object.keys(member)) {
        const value = member[inner];
        if (typeof value === "function") add(value, [id, name, inner]);
      }
    }
  }
  return paths;
}
function builtinAt([id, ...members]) {
  let value = process.getBuiltinModule(`node:${id}`);
  for (const name of members) value = value[name];
  return value;
}
/** Whether `file` was loaded as a CommonJS module. */
function isCommonJsModule(file) {
  return node_module_1.default._cache?.[file] !== undefined;
}
/** The CommonJS module whose whole `exports` is this value. */
function commonJsFileOf(value) {
  const cache = node_module_1.default._cache ?? {};
  for (const file of Object.keys(cache)) if (cache[file]?.exports === value) return file;
  return undefined;
}
/** The member of a CommonJS module that this value is: `null` for its whole `exports`, `undefined` when it is none. */
function commonJsMember(value, file) {
  const exports = node_module_1.default._cache?.[file]?.exports;
  if (exports === value) return null;
  if (!isObjectLike(exports)) return undefined;
  return Object.keys(exports).find((name) => tryRead(() => exports[name]) === value);
}
//# sourceMappingURL=known-values.js.map
