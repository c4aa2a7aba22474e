"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.FunctionFacts = void 0;
exports.factsOf = factsOf;
/**
 * What a function or class is: its text, its parse, its place in a script. Looked up once for each, then remembered by identity.
 *
 * Owns the cache (weak) and a small one of parsed texts, as closures of one site share theirs. Called by the capture files.
 */
const inspector_session_ts_1 = require("./inspector-session.js");
const parse_text_ts_1 = require("./parse-text.js");
const revived_code_ts_1 = require("./revived-code.js");
const script_table_ts_1 = require("./script-table.js");
/** Taken before anything can replace it. */
const sourceTextOf = Function.prototype.toString;
const NATIVE_TEXT = /\{\s*\[native code\]\s*\}\s*$/;
/** Not an arrow's parameter or a method that happens to be called `class`. */
const CLASS_TEXT = /^class(?![\w$]|\s*\()/;
/** Enough for the sites of a large program; a text is some hundred bytes. */
const PARSED_TEXTS_MAX = 1000;
class FunctionFacts {
  target;
  /** The text as it was first captured, also for a revived function. */
  text;
  isNative;
  isClass;
  #parsed;
  #place;
  constructor(target) {
    this.target = target;
    this.text = (0, revived_code_ts_1.revivedCodeOf)(target)?.code.text ?? sourceTextOf.call(target);
    this.isNative = NATIVE_TEXT.test(this.text.slice(-100));
    this.isClass = CLASS_TEXT.test(this.text);
  }
  get parsed() {
    if (this.#parsed === undefined) this.#parsed = parseCached(this.text);
    return this.#parsed;
  }
  /** `null` for functions that have no text of their own. */
  place(internals) {
    if (this.#place === undefined) this.#place = this.#locate(internals ?? (0, inspector_session_ts_1.internalsOf)(this.target));
    return this.#place;
  }
  #locate(internals) {
    const location = internals.internal.get("[[FunctionLocation]]")?.value;
    if (!location) return null;
    const script = (0, script_table_ts_1.scriptById)(location.scriptId);
    return { script, offset: script.offsetOf(sourceTextOf.call(this.target), location) };
  }
}
exports.FunctionFacts = FunctionFacts;
const factsByFunction = new WeakMap();
function factsOf(target) {
  let facts = factsByFunction.get(target);
  if (!facts) {
    facts = new FunctionFacts(target);
    factsByFunction.set(target, facts);
  }
  return facts;
}
const parsedTexts = new Map();
function parseCached(text) {
  let parsed = parsedTexts.get(text);
  if (parsed === undefined) {
    parsed = (0, parse_text_ts_1.parseText)(text);
    if (parsedTexts.size >= PARSED_TEXTS_MAX) parsedTexts.clear();
    parsedTexts.set(text, parsed);
  }
  return parsed;
}
//# sourceMappingURL=function-facts.js.map
