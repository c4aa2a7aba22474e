"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.UnsupportedValueError = void 0;
exports.encodeValue = encodeValue;
/**
 * Encodes a value as MessagePack with the extensions of `tags.ts`: what `.remote()` arguments, results, stored objects and headers are.
 *
 * Decides what is plain data (numbers, text, arrays, objects of nothing but enumerable data properties, the built-in types of
 * structured clone) and asks the caller's `reduce` for everything else: functions, symbols, class instances, objects with accessors.
 * Owns the scratch memory. Identity inside one value is kept: a second meeting writes a reference, and the first gets its number
 * afterwards, so that a value without shared parts, which nearly all are, carries no trace of it.
 * Invariants: no user code runs but `reduce`, `Error.prepareStackTrace` and the traps of proxies; nothing of the user's is kept alive
 * after the call; `reduce` may encode values itself.
 */
const byte_writer_ts_1 = require("./byte-writer.js");
const encode_built_in_ts_1 = require("./encode-built-in.js");
const limits_ts_1 = require("./limits.js");
const plain_object_ts_1 = require("./plain-object.js");
const shape_table_ts_1 = require("./shape-table.js");
const tags_ts_1 = require("./tags.js");
const unsupported_value_error_ts_1 = require("./unsupported-value-error.js");
var unsupported_value_error_ts_2 = require("./unsupported-value-error.js");
Object.defineProperty(exports, "UnsupportedValueError", { enumerable: true, get: function () { return unsupported_value_error_ts_2.UnsupportedValueError; } });
/**
 * Encodes a value.
 *
 * @throws UnsupportedValueError for what neither the format nor `reduce` knows; its `path` leads there.
 */
function encodeValue(value, hooks) {
    // `reduce` may call back into here: each level has scratch memory of its own.
    const encoder = (encoders[nesting] ??= new ValueEncoder());
    nesting += 1;
    try {
        return encoder.encode(value, hooks);
    }
    finally {
        nesting -= 1;
    }
}
const encoders = [];
let nesting = 0;
/** Up to so many objects are found by comparing with each; from there on by a Map, which costs half as much again from the first one on. */
const LINEAR_MAX = 8;
/** What one large value left in the list of positions is given back beyond this. */
const STARTS_KEPT_MAX = 4096;
const NO_BUFFERS = Object.freeze([]);
const NO_HOOKS = { reduce: () => undefined };
const NOT_PLAIN = "an object with accessors, symbol keys or hidden properties is not plain data";
class ValueEncoder extends byte_writer_ts_1.ByteWriter {
    #result = { bytes: this.bytes, start: 0, end: 0, buffers: NO_BUFFERS, buffersSizeBytes: 0 };
    #shapes = new shape_table_ts_1.ShapeTable();
    #hooks = NO_HOOKS;
    #depth = 0;
    #buffers = NO_BUFFERS;
    #buffersSizeBytes = 0;
    // Objects met so far, numbered in the order in which their bytes begin.
    #metCount = 0;
    #met = new Array(LINEAR_MAX).fill(undefined);
    #metByObject;
    #starts = [];
    /** Numbers of the objects that were met again, each with its id. */
    #shared;
    /** Objects whose `reduce` payload is being written. */
    #reducing = [];
    encode(value, hooks) {
        this.rewind();
        this.#hooks = hooks;
        this.#depth = 0;
        this.#buffers = NO_BUFFERS;
        this.#buffersSizeBytes = 0;
        try {
            this.writeValue(value);
            if (this.#shared !== undefined)
                this.#insertSharedMarkers(this.#shared);
        }
        catch (error) {
            throw explained(error, value);
        }
        finally {
            if (this.#metCount > 0)
                this.#forget();
            this.#hooks = NO_HOOKS;
        }
        const result = this.#result;
        result.bytes = this.bytes;
        result.end = this.position;
        result.buffers = this.#buffers;
        result.buffersSizeBytes = this.#buffersSizeBytes;
        return result;
    }
    writeValue(value) {
        switch (typeof value) {
            case "number":
                this.writeNumber(value);
                return;
            case "string":
                this.writeString(value);
                return;
            case "boolean":
                this.writeByte(value ? 0xc3 : 0xc2); // true, false
                return;
            case "undefined":
                this.writeExtensionByte(tags_ts_1.EXTENSION.UNDEFINED, 0);
                return;
            case "object":
                if (value === null)
                    this.writeByte(0xc0); // nil
                else
                    this.#writeObject(value);
                return;
            case "bigint":
                (0, encode_built_in_ts_1.writeBigint)(this, value);
                return;
            case "symbol":
                this.writeReduced(value, "a symbol is not plain data");
                return;
            default:
                if (!this.#writeIfMet(value))
                    this.writeReduced(value, "a function is not plain data");
        }
    }
    #writeObject(value) {
        if (this.#writeIfMet(value))
            return;
        this.#enter(value);
        const prototype = Object.getPrototypeOf(value);
        if (prototype === Object.prototype)
            this.#writePlainObject(value);
        else if (prototype === Array.prototype && Array.isArray(value))
            this.#writeArray(value);
        else
            (0, encode_built_in_ts_1.writeBuiltIn)(this, value, prototype);
        this.#depth -= 1;
    }
    #enter(value) {
        this.#depth += 1;
        if (this.#depth > limits_ts_1.DEPTH_MAX)
            throw new unsupported_value_error_ts_1.UnsupportedValueError(value, `it is nested more than ${limits_ts_1.DEPTH_MAX} levels deep`);
    }
    #writePlainObject(target) {
        const names = Object.getOwnPropertyNames(target);
        const values = (0, plain_object_ts_1.plainValuesOf)(target, names);
        if (values === undefined) {
            this.writeReduced(target, NOT_PLAIN);
            return;
        }
        const shape = this.#shapes.meet(names);
        if (shape < 0)
            this.writeMap(names, values);
        else
            this.#writeShaped(shape, names, values);
    }
    writeMap(names, values) {
        this.writeMapHeader(names.length);
        let index = 0;
        try {
            for (; index < names.length; index += 1) {
                this.writeString(names[index]);
                this.writeValue(values[index]);
            }
        }
        catch (error) {
            throw (0, unsupported_value_error_ts_1.withStep)(error, () => (0, unsupported_value_error_ts_1.propertyStep)(names[index]));
        }
    }
    #writeShaped(shape, names, values) {
        this.writeArrayHeader(names.length + 1);
        if (this.#shapes.isNew)
            this.#writeShapeDefinition(names);
        else
            this.writeExtensionNumber(tags_ts_1.EXTENSION.SHAPE, shape);
        let index = 0;
        try {
            for (; index < values.length; index += 1)
                this.writeValue(values[index]);
        }
        catch (error) {
            throw (0, unsupported_value_error_ts_1.withStep)(error, () => (0, unsupported_value_error_ts_1.propertyStep)(names[index]));
        }
    }
    /** The names as an array inside the extension: definitions are numbered in the order in which they stand in the bytes. */
    #writeShapeDefinition(names) {
        this.reserve(6);
        const start = this.position;
        this.bytes[start] = 0xc9; // ext 32: its length follows when the names are written
        this.bytes[start + 5] = tags_ts_1.EXTENSION.SHAPE_DEFINITION;
        this.position = start + 6;
        this.writeArrayHeader(names.length);
        for (const name of names)
            this.writeString(name);
        this.view.setUint32(start + 1, this.position - start - 6);
    }
    #writeArray(items) {
        if ((0, encode_built_in_ts_1.isMatch)(items))
            (0, encode_built_in_ts_1.writeMatch)(this, items);
        else
            this.writeItems(items);
    }
    /** The elements. Named properties are left out: to find out whether there are any takes longer than to write the elements (8 ns each). */
    writeItems(items) {
        const length = items.length;
        if ((0, encode_built_in_ts_1.isSparse)(items)) {
            (0, encode_built_in_ts_1.writeSparseArray)(this, items);
            return;
        }
        this.writeArrayHeader(length);
        let index = 0;
        try {
            for (; index < length; index += 1) {
                const item = items[index];
                if (item === undefined && !Object.hasOwn(items, index))
                    this.writeExtensionByte(tags_ts_1.EXTENSION.HOLE, 0);
                else
                    this.writeValue(item);
            }
        }
        catch (error) {
            throw (0, unsupported_value_error_ts_1.withStep)(error, () => `[${index}]`);
        }
    }
    writeReduced(value, reason) {
        const reduced = this.#hooks.reduce(value);
        if (reduced === undefined)
            throw new unsupported_value_error_ts_1.UnsupportedValueError(value, reason);
        const { kind } = reduced;
        if (!Number.isInteger(kind) || kind < 0 || kind >= limits_ts_1.CUSTOM_KINDS_MAX) {
            throw new RangeError(`Cannot send a value: the kind of a custom form is outside 0..${limits_ts_1.CUSTOM_KINDS_MAX - 1}: received ${kind}`);
        }
        this.#enter(value);
        this.#reducing.push(value);
        this.writeArrayHeader(2);
        this.writeExtensionByte(tags_ts_1.EXTENSION.CUSTOM, kind);
        this.writeValue(reduced.payload);
        this.#reducing.pop();
        this.#depth -= 1;
    }
    /** Bytes of a kind: in place when they are few, else as a number into `buffers`. */
    writeBuffer(kind, bytes) {
        const size = bytes.length;
        if (size >= limits_ts_1.OUT_OF_BAND_BYTES) {
            if (this.#buffers === NO_BUFFERS)
                this.#buffers = [];
            this.writeExtensionHeader(tags_ts_1.EXTENSION.OUT_OF_BAND_BUFFER, 5);
            this.writeByte(kind);
            this.reserve(4);
            this.writeUint32(this.#buffers.length);
            this.#buffers.push(bytes);
            this.#buffersSizeBytes += size;
            return;
        }
        if (kind === tags_ts_1.BUFFER_KIND.Uint8Array) {
            this.writeBytesHeader(size);
        }
        else {
            this.writeExtensionHeader(tags_ts_1.EXTENSION.BUFFER, size + 1);
            this.writeByte(kind);
        }
        this.writeRaw(bytes);
    }
    /** Whether the object has been met before: then a reference is written. Else it is remembered under the position at which it begins. */
    #writeIfMet(value) {
        const count = this.#metCount;
        const met = this.#metByObject;
        if (met === undefined) {
            for (let number = 0; number < count; number += 1) {
                if (this.#met[number] === value)
                    return this.#writeReference(number, value);
            }
            if (count < LINEAR_MAX)
                this.#met[count] = value;
            else
                this.#metByObject = new Map(this.#met.map((object, number) => [object, number])).set(value, count);
        }
        else {
            const number = met.get(value);
            if (number !== undefined)
                return this.#writeReference(number, value);
            met.set(value, count);
        }
        this.#starts[count] = this.position;
        this.#metCount = count + 1;
        return false;
    }
    #writeReference(number, value) {
        if (this.#reducing.length > 0 && this.#reducing.includes(value)) {
            throw new unsupported_value_error_ts_1.UnsupportedValueError(value, "its custom form leads back to itself");
        }
        this.#shared ??= new Map();
        let id = this.#shared.get(number);
        if (id === undefined) {
            id = this.#shared.size;
            this.#shared.set(number, id);
        }
        this.writeExtensionNumber(tags_ts_1.EXTENSION.REFERENCE, id);
        return true;
    }
    /** Puts `[SHARED id, ` in front of every object that is referred to, from the last to the first, each byte moving once. */
    #insertSharedMarkers(shared) {
        const numbers = [...shared.keys()].sort((left, right) => right - left);
        let shift = 0;
        for (const id of shared.values())
            shift += sharedMarkerSize(id);
        this.reserve(shift);
        const bytes = this.bytes;
        const end = this.position + shift;
        let tail = this.position;
        for (const number of numbers) {
            const start = this.#starts[number];
            const id = shared.get(number);
            bytes.copyWithin(start + shift, start, tail);
            shift -= sharedMarkerSize(id);
            this.position = start + shift;
            this.writeArrayHeader(2);
            this.writeExtensionNumber(tags_ts_1.EXTENSION.SHARED, id);
            tail = start;
        }
        this.position = end;
    }
    #forget() {
        const count = Math.min(this.#metCount, LINEAR_MAX);
        for (let number = 0; number < count; number += 1)
            this.#met[number] = undefined;
        if (this.#metCount > STARTS_KEPT_MAX)
            this.#starts = [];
        this.#metCount = 0;
        this.#metByObject = undefined;
        this.#shared = undefined;
        if (this.#reducing.length > 0)
            this.#reducing.length = 0;
        this.#shapes.reset();
    }
}
/** An array of two, and an extension number. */
function sharedMarkerSize(id) {
    if (id < 0x100)
        return 4;
    return id < 0x10000 ? 5 : 7;
}
/** What the caller gets: the way to the value, or for failures of the whole value the limit that it exceeds. */
function explained(error, value) {
    if (error instanceof unsupported_value_error_ts_1.UnsupportedValueError)
        return (0, unsupported_value_error_ts_1.completeUnsupportedValueError)(error);
    if (error instanceof byte_writer_ts_1.InBandSizeError) {
        return (0, unsupported_value_error_ts_1.completeUnsupportedValueError)(new unsupported_value_error_ts_1.UnsupportedValueError(value, `its bytes besides large buffers exceed the limit of ${limits_ts_1.IN_BAND_BYTES_MAX}`));
    }
    if ((0, limits_ts_1.isStackOverflow)(error)) {
        return (0, unsupported_value_error_ts_1.completeUnsupportedValueError)(new unsupported_value_error_ts_1.UnsupportedValueError(value, "it is nested too deeply for the stack that is left"));
    }
    return error;
}
//# sourceMappingURL=encode.js.map