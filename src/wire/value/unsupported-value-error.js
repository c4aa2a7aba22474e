"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.UnsupportedValueError = void 0;
exports.withStep = withStep;
exports.completeUnsupportedValueError = completeUnsupportedValueError;
exports.propertyStep = propertyStep;
exports.entryStep = entryStep;
/**
 * The error of a value that the value format cannot carry, with the way to it.
 *
 * Thrown deep inside a value, where the way is not known; each container on the way out adds its step, and `encodeValue` then
 * completes the message. So a value that can be sent pays nothing for the path of one that cannot.
 */
const describe_ts_1 = require("../../base/describe.js");
const limits_ts_1 = require("./limits.js");
const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u;
const KEY_SHOWN_MAX = 60;
/** A value cannot be sent in this format; the closure graph, which also carries functions and instances, may be able to. */
class UnsupportedValueError extends TypeError {
    /** Steps from the outermost value to the one that cannot be sent, such as `.pool`, `[0]`, `["a b"]`, `.get("key")`; the first 32 of them. */
    path = [];
    /** What cannot be sent. */
    value;
    /** Why, in a few words. */
    reason;
    constructor(value, reason) {
        super();
        this.value = value;
        this.reason = reason;
        Object.defineProperty(this, "name", { value: "UnsupportedValueError", writable: true, configurable: true, enumerable: false });
    }
}
exports.UnsupportedValueError = UnsupportedValueError;
/** Steps that were added so far, innermost first; complete only when the error has left the outermost value. */
const stepsOf = new WeakMap();
/** Called by each container that an error leaves. Returns the error, to be thrown on. */
function withStep(error, step) {
    if (!(error instanceof UnsupportedValueError))
        return error;
    const steps = stepsOf.get(error);
    if (steps === undefined)
        stepsOf.set(error, [step()]);
    else
        steps.push(step());
    return error;
}
/** Puts the path in order and into the message. Again for an outer value, when `reduce` encoded a part of it by a call of its own. */
function completeUnsupportedValueError(error) {
    const path = [...(stepsOf.get(error) ?? []).reverse(), ...error.path];
    stepsOf.delete(error);
    error.path.splice(0, error.path.length, ...path.slice(0, limits_ts_1.PATH_STEPS_MAX));
    const more = path.length > limits_ts_1.PATH_STEPS_MAX ? ` … (${path.length} steps in all)` : "";
    const where = path.length === 0 ? "the value" : `the value at ${error.path.join("")}${more}`;
    const message = `Cannot send ${where}: ${error.reason}: received ${(0, describe_ts_1.describeValue)(error.value)}`;
    Object.defineProperty(error, "message", { value: message, writable: true, configurable: true, enumerable: false });
    return error;
}
/** `.name`, or `["a b"]` for what is no identifier. */
function propertyStep(name) {
    if (name.length <= KEY_SHOWN_MAX && IDENTIFIER.test(name))
        return `.${name}`;
    return `[${quoted(name)}]`;
}
/** `.get("key")` for a value of a Map. */
function entryStep(key) {
    return `.get(${typeof key === "string" ? quoted(key) : (0, describe_ts_1.describeValue)(key)})`;
}
function quoted(text) {
    return JSON.stringify(text.length > KEY_SHOWN_MAX ? `${text.slice(0, KEY_SHOWN_MAX)}…` : text);
}
//# sourceMappingURL=unsupported-value-error.js.map