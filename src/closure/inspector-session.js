"use strict";
var __importDefault =
  (this && this.__importDefault) ||
  function (mod) {
    return mod && mod.__esModule ? mod : { default: mod };
  };
Object.defineProperty(exports, "__esModule", { value: true });
exports.internalsOf = internalsOf;
exports.liveValue = liveValue;
exports.scopesOf = scopesOf;
exports.liveItems = liveItems;
exports.releaseObjects = releaseObjects;
exports.withDebugger = withDebugger;
exports.heapObjectId = heapObjectId;
exports.objectByHeapId = objectByHeapId;
/**
 * The window onto what the language hides: a function's scopes and position, private fields, the parts of bound functions and proxies.
 *
 * Owns the one inspector session of this thread, opened at the first use and left open (an open session costs nothing; only an enabled
 * Debugger makes `await` 5-9 times slower, so `withDebugger` enables it for one synchronous step). All calls are synchronous. Live values
 * cross between this code and the inspector through a slot on a built-in module's object, which every vm context reaches.
 */
const node_inspector_1 = __importDefault(require("node:inspector"));
const errors_ts_1 = require("../base/errors.js");
const SLOT_KEY = Symbol.for("shoal.closure.slot");
const SLOT_EXPRESSION = `process.getBuiltinModule("node:inspector")[Symbol.for("shoal.closure.slot")]`;
const OBJECT_GROUP = "shoal.closure";
let openSession = null;
let slot = { input: undefined, output: undefined };
function session() {
  if (openSession) return openSession;
  const shared = node_inspector_1.default;
  const known = shared[SLOT_KEY];
  if (known) slot = known;
  else Object.defineProperty(node_inspector_1.default, SLOT_KEY, { value: slot });
  const created = new node_inspector_1.default.Session();
  created.connect();
  openSession = created;
  return created;
}
/** One inspector command. @throws SerializationError where the inspector is switched off. */
function post(method, parameters) {
  let result;
  let failure = null;
  try {
    session().post(method, parameters, (error, value) => {
      failure = error;
      result = value;
    });
  } catch (error) {
    failure = error;
  }
  if (failure !== null) {
    const { message = String(failure) } = failure;
    throw new errors_ts_1.SerializationError(
      `Cannot look into a function: Node's inspector answered ${JSON.stringify(message)} to ${method}. ` +
        "Functions can be sent only where the inspector is available: under --permission add --allow-inspector.",
      { reason: "inspector-unavailable", cause: failure },
    );
  }
  return result;
}
function internalsOf(value) {
  const objectId = objectIdOf(value);
  const properties = post("Runtime.getProperties", { objectId, ownProperties: true, nonIndexedPropertiesOnly: true });
  const internal = new Map();
  for (const property of properties.internalProperties ?? []) {
    if (property.value) internal.set(property.name, property.value);
  }
  return { internal, privateFields: properties.privateProperties ?? [] };
}
function objectIdOf(value) {
  session();
  slot.input = value;
  try {
    const { result } = post("Runtime.evaluate", {
      expression: `${SLOT_EXPRESSION}.input`,
      objectGroup: OBJECT_GROUP,
      silent: true,
    });
    return result.objectId;
  } finally {
    slot.input = undefined;
  }
}
const UNSERIALIZABLE = {
  NaN: Number.NaN,
  "-0": -0,
  Infinity: Number.POSITIVE_INFINITY,
  "-Infinity": Number.NEGATIVE_INFINITY,
};
/** The JavaScript value itself behind the inspector's description of it. */
function liveValue(remote) {
  if (!remote) return undefined;
  if (remote.objectId) return throughSlot(remote.objectId, "this");
  const text = remote.unserializableValue;
  if (text === undefined) return remote.value;
  return UNSERIALIZABLE[text] ?? BigInt(text.replace(/n$/, ""));
}
/** The scopes that the inspector lists under `[[Scopes]]`, without the global one. */
function scopesOf(internals) {
  const objectId = internals.internal.get("[[Scopes]]")?.objectId;
  if (!objectId) return [];
  const entries = throughSlot(objectId, "Array.from(this)");
  return entries
    .filter(({ description, object }) => description !== "Global" && object !== undefined)
    .map(({ description, object }) => ({ description, variables: object }));
}
/** The items of an array-like internal property such as `[[BoundArgs]]`. */
function liveItems(remote) {
  return remote?.objectId ? throughSlot(remote.objectId, "Array.from(this)") : [];
}
function throughSlot(objectId, expression) {
  post("Runtime.callFunctionOn", {
    objectId,
    functionDeclaration: `function () { "use strict"; ${SLOT_EXPRESSION}.output = ${expression}; }`,
    silent: true,
  });
  const value = slot.output;
  slot.output = undefined;
  return value;
}
/** Lets go of every object that the inspector holds for this module: called at the end of each capture. */
function releaseObjects() {
  if (openSession) post("Runtime.releaseObjectGroup", { objectGroup: OBJECT_GROUP });
}
/** Lists all scripts of the process and runs `use`, with the Debugger enabled for as long as that takes (8-30 ms). */
function withDebugger(use) {
  const scripts = [];
  const collect = (message) => {
    scripts.push(message.params);
  };
  const open = session();
  open.on("Debugger.scriptParsed", collect);
  try {
    post("Debugger.enable");
    return use(scripts, (scriptId) => post("Debugger.getScriptSource", { scriptId }).scriptSource);
  } finally {
    open.off("Debugger.scriptParsed", collect);
    post("Debugger.disable");
  }
}
/** The id that heap snapshots give to a value. Only meaningful after one was taken. */
function heapObjectId(value) {
  const objectId = objectIdOf(value);
  return Number(post("HeapProfiler.getHeapObjectId", { objectId }).heapSnapshotObjectId);
}
/** The live object with that heap snapshot id. */
function objectByHeapId(id) {
  const parameters = { objectId: String(id), objectGroup: OBJECT_GROUP };
  return liveValue(post("HeapProfiler.getObjectByHeapObjectId", parameters).result);
}
//# sourceMappingURL=inspector-session.js.map
