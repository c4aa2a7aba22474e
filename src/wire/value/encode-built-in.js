"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.writeBuiltIn = writeBuiltIn;
exports.isMatch = isMatch;
exports.writeMatch = writeMatch;
exports.isSparse = isSparse;
exports.writeSparseArray = writeSparseArray;
exports.writeBigint = writeBigint;
const plain_object_ts_1 = require("./plain-object.js");
const tags_ts_1 = require("./tags.js");
const unsupported_value_error_ts_1 = require("./unsupported-value-error.js");
const OWN_PROPERTIES = "its properties of its own would be lost";
const SHARED_MEMORY = "shared memory belongs to its process";
const WEAK = "what is held weakly belongs to its process";
const FAKE = "it has the prototype of a built-in type, but is none";
const writers = new Map([
    [Map.prototype, writeMapEntries],
    [Set.prototype, writeSetItems],
    [Date.prototype, writeDate],
    [RegExp.prototype, writeRegExp],
    [null, writeNullPrototype],
    [Number.prototype, boxedWriter(Number.prototype.valueOf)],
    [String.prototype, boxedWriter(String.prototype.valueOf)],
    [Boolean.prototype, boxedWriter(Boolean.prototype.valueOf)],
    [BigInt.prototype, boxedWriter(BigInt.prototype.valueOf)],
    [ArrayBuffer.prototype, writeArrayBuffer],
    [DataView.prototype, writeDataView],
    [Buffer.prototype, typedArrayWriter("Uint8Array", tags_ts_1.BUFFER_KIND.Buffer)],
    [AggregateError.prototype, errorWriter(tags_ts_1.AGGREGATE_ERROR_NAME)],
    [DOMException.prototype, writeDomException],
    // Never written, but worth a reason of their own.
    [SharedArrayBuffer.prototype, () => SHARED_MEMORY],
    [Promise.prototype, () => "a promise belongs to its process, only what it resolves to can be sent"],
    [WeakMap.prototype, () => WEAK],
    [WeakSet.prototype, () => WEAK],
    [WeakRef.prototype, () => WEAK],
]);
for (const [name, errorClass] of tags_ts_1.ERROR_CLASSES)
    writers.set(errorClass.prototype, errorWriter(name));
for (const [name, kind] of Object.entries(tags_ts_1.BUFFER_KIND)) {
    const isTypedArray = name.endsWith("Array");
    // Not every version of Node that is supported has Float16Array.
    const constructor = globalThis[name];
    if (isTypedArray && constructor !== undefined)
        writers.set(constructor.prototype, typedArrayWriter(name, kind));
}
/** Writes a value whose prototype is neither that of arrays nor of plain objects. */
function writeBuiltIn(encoder, value, prototype) {
    const write = writers.get(prototype) ?? writers.get(publicErrorPrototype(prototype));
    const problem = write === undefined ? "an instance of a class is not plain data" : write(encoder, value);
    if (problem !== undefined)
        encoder.writeReduced(value, problem);
}
/**
 * Node gives its own errors (`ERR_INVALID_ARG_TYPE` and so on) prototypes that no program can name, between the instance and
 * `TypeError.prototype`; their `constructor` is a getter for `TypeError`. They are sent as errors of that class.
 */
function publicErrorPrototype(prototype) {
    if (typeof prototype !== "object" || prototype === null)
        return undefined;
    const base = Object.getPrototypeOf(prototype);
    if (!(base instanceof Error) && base !== Error.prototype)
        return undefined;
    const property = Object.getOwnPropertyDescriptor(prototype, "constructor");
    const constructor = property?.get === undefined ? undefined : prototype.constructor;
    const isBuiltIn = typeof constructor === "function" && constructor.prototype === base && tags_ts_1.ERROR_CLASSES.get(constructor.name) === constructor;
    return isBuiltIn ? base : undefined;
}
/** Whether an object has no properties besides those of its type. */
function isBare(value, ownNames = 0) {
    return Object.getOwnPropertyNames(value).length === ownNames && Object.getOwnPropertySymbols(value).length === 0;
}
function writeForm(encoder, form, items) {
    encoder.writeArrayHeader(items + 1);
    encoder.writeExtensionByte(tags_ts_1.EXTENSION.FORM, form);
}
// ---------------------------------------------------------------------------------------------------------------------
// Collections
const mapSize = getterOf(Map.prototype, "size");
const setSize = getterOf(Set.prototype, "size");
function writeMapEntries(encoder, value) {
    const size = slotOf(mapSize, value);
    if (size === undefined)
        return FAKE;
    if (!isBare(value))
        return OWN_PROPERTIES;
    writeForm(encoder, tags_ts_1.FORM.MAP, size * 2);
    let count = 0;
    for (const [key, item] of value) {
        if (count === size)
            break;
        try {
            encoder.writeValue(key);
        }
        catch (error) {
            throw (0, unsupported_value_error_ts_1.withStep)(error, () => `.keys()[${count}]`);
        }
        try {
            encoder.writeValue(item);
        }
        catch (error) {
            throw (0, unsupported_value_error_ts_1.withStep)(error, () => (0, unsupported_value_error_ts_1.entryStep)(key));
        }
        count += 1;
    }
    assertUnchanged(value, count, size);
    return undefined;
}
function writeSetItems(encoder, value) {
    const size = slotOf(setSize, value);
    if (size === undefined)
        return FAKE;
    if (!isBare(value))
        return OWN_PROPERTIES;
    writeForm(encoder, tags_ts_1.FORM.SET, size);
    let count = 0;
    try {
        for (const item of value) {
            if (count === size)
                break;
            encoder.writeValue(item);
            count += 1;
        }
    }
    catch (error) {
        throw (0, unsupported_value_error_ts_1.withStep)(error, () => `.values()[${count}]`);
    }
    assertUnchanged(value, count, size);
    return undefined;
}
/** The number of entries is written before them. */
function assertUnchanged(value, count, size) {
    if (count !== size)
        throw new unsupported_value_error_ts_1.UnsupportedValueError(value, `it shrank from ${size} to ${count} entries while it was read`);
}
function writeNullPrototype(encoder, value) {
    const names = Object.getOwnPropertyNames(value);
    const values = (0, plain_object_ts_1.plainValuesOf)(value, names);
    if (values === undefined)
        return "an object with accessors, symbol keys or hidden properties is not plain data";
    writeForm(encoder, tags_ts_1.FORM.NULL_PROTOTYPE, 1);
    encoder.writeMap(names, values);
    return undefined;
}
/** Whether an array is the result of `match` or `exec`, or its `indices`: both have `groups` besides their elements, even without any. */
function isMatch(items) {
    return "groups" in items;
}
function writeMatch(encoder, items) {
    const names = Object.getOwnPropertyNames(items)
        .slice(items.length)
        .filter((name) => name !== "length");
    const properties = names.map((name) => items[name]);
    writeForm(encoder, tags_ts_1.FORM.MATCH, 2);
    encoder.writeItems(items);
    encoder.writeMap(names, properties);
}
/** Shorter arrays are written element by element, each hole as three bytes. */
const SPARSE_LENGTH_MIN = 1024;
/** Whether a long array has a hole at one of five places: then listing its elements is worth asking for their indices. */
function isSparse(items) {
    const last = items.length - 1;
    if (last < SPARSE_LENGTH_MIN)
        return false;
    for (const part of [0, 0.25, 0.5, 0.75, 1])
        if (!Object.hasOwn(items, Math.floor(last * part)))
            return true;
    return false;
}
function writeSparseArray(encoder, items) {
    const indices = [];
    for (const name of Object.keys(items)) {
        const index = Number(name);
        // Indices come first, in ascending order.
        if (!(index < items.length) || String(index) !== name)
            break;
        indices.push(index);
    }
    writeForm(encoder, tags_ts_1.FORM.SPARSE_ARRAY, 1 + indices.length * 2);
    encoder.writeNumber(items.length);
    for (const index of indices) {
        encoder.writeNumber(index);
        try {
            encoder.writeValue(items[index]);
        }
        catch (error) {
            throw (0, unsupported_value_error_ts_1.withStep)(error, () => `[${index}]`);
        }
    }
}
// ---------------------------------------------------------------------------------------------------------------------
// Scalars with a type
function writeDate(encoder, value) {
    const time = slotOf(Date.prototype.getTime, value);
    if (time === undefined)
        return FAKE;
    if (!isBare(value))
        return OWN_PROPERTIES;
    encoder.writeExtensionHeader(tags_ts_1.EXTENSION.DATE, 8);
    encoder.reserve(8);
    encoder.writeFloat64(time);
    return undefined;
}
const regExpSource = getterOf(RegExp.prototype, "source");
function writeRegExp(encoder, value) {
    const source = slotOf(regExpSource, value);
    if (source === undefined)
        return FAKE;
    const { flags, lastIndex } = value;
    if (!isBare(value, 1) || typeof lastIndex !== "number")
        return OWN_PROPERTIES;
    writeForm(encoder, tags_ts_1.FORM.REG_EXP, lastIndex === 0 ? 2 : 3);
    encoder.writeString(source);
    encoder.writeString(flags);
    if (lastIndex !== 0)
        encoder.writeNumber(lastIndex);
    return undefined;
}
function boxedWriter(valueOf) {
    return (encoder, value) => {
        const primitive = slotOf(valueOf, value);
        if (primitive === undefined)
            return FAKE;
        const ownNames = typeof primitive === "string" ? primitive.length + 1 : 0;
        if (!isBare(value, ownNames))
            return OWN_PROPERTIES;
        writeForm(encoder, tags_ts_1.FORM.BOXED, 1);
        encoder.writeValue(primitive);
        return undefined;
    };
}
/** Two's complement, big-endian: eight bytes for what fits in them, else as few as hold the sign too. */
function writeBigint(encoder, value) {
    if (BigInt.asIntN(64, value) === value) {
        encoder.writeExtensionHeader(tags_ts_1.EXTENSION.BIGINT, 8);
        encoder.reserve(8);
        encoder.view.setBigInt64(encoder.position, value);
        encoder.position += 8;
        return;
    }
    const digits = (value < 0n ? ~value : value).toString(16);
    const hasFullByte = digits.length % 2 === 0 && Number.parseInt(digits.charAt(0), 16) >= 8;
    const size = Math.ceil(digits.length / 2) + (hasFullByte ? 1 : 0);
    const hex = BigInt.asUintN(size * 8, value)
        .toString(16)
        .padStart(size * 2, "0");
    encoder.writeExtensionHeader(tags_ts_1.EXTENSION.BIGINT, size);
    encoder.reserve(size);
    encoder.bytes.write(hex, encoder.position, "hex");
    encoder.position += size;
}
// ---------------------------------------------------------------------------------------------------------------------
// Buffers
const typedArrayTag = getterOf(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag);
const dataViewBuffer = getterOf(DataView.prototype, "buffer");
const arrayBufferSize = getterOf(ArrayBuffer.prototype, "byteLength");
const DETACHED = "its buffer was transferred away";
/** The bytes that the view shows; a `Buffer` is often a small part of its `ArrayBuffer`. */
function typedArrayWriter(tag, kind) {
    return (encoder, value) => {
        if (typedArrayTag.call(value) !== tag)
            return FAKE;
        const array = value;
        const problem = memoryProblem(array.buffer);
        if (problem !== undefined)
            return problem;
        const isBytes = tag === "Uint8Array";
        encoder.writeBuffer(kind, isBytes ? array : new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
        return undefined;
    };
}
function writeDataView(encoder, value) {
    const buffer = slotOf(dataViewBuffer, value);
    if (buffer === undefined)
        return FAKE;
    const problem = isBare(value) ? memoryProblem(buffer) : OWN_PROPERTIES;
    if (problem !== undefined)
        return problem;
    const view = value;
    encoder.writeBuffer(tags_ts_1.BUFFER_KIND.DataView, new Uint8Array(buffer, view.byteOffset, view.byteLength));
    return undefined;
}
function writeArrayBuffer(encoder, value) {
    if (slotOf(arrayBufferSize, value) === undefined)
        return FAKE;
    const problem = isBare(value) ? memoryProblem(value) : OWN_PROPERTIES;
    if (problem !== undefined)
        return problem;
    encoder.writeBuffer(tags_ts_1.BUFFER_KIND.ArrayBuffer, new Uint8Array(value));
    return undefined;
}
function memoryProblem(buffer) {
    if (buffer instanceof SharedArrayBuffer)
        return SHARED_MEMORY;
    return buffer.byteLength === 0 && buffer.detached ? DETACHED : undefined;
}
function errorWriter(className) {
    return (encoder, value) => {
        if (Object.prototype.toString.call(value) !== "[object Error]")
            return FAKE;
        const properties = errorPropertiesOf(value);
        if (properties === undefined)
            return "an error with accessors or symbol keys is not plain data";
        writeForm(encoder, tags_ts_1.FORM.ERROR, properties.names.length === 0 ? 2 : 3);
        encoder.writeString(className);
        writeErrorProperties(encoder, properties);
        return undefined;
    };
}
const domExceptionName = getterOf(DOMException.prototype, "name");
/** `AbortError`, `TimeoutError` and the like: name and message are no properties of theirs. */
function writeDomException(encoder, value) {
    const name = slotOf(domExceptionName, value);
    if (name === undefined)
        return FAKE;
    const properties = errorPropertiesOf(value);
    if (properties === undefined)
        return "an error with accessors or symbol keys is not plain data";
    writeForm(encoder, tags_ts_1.FORM.DOM_EXCEPTION, properties.names.length === 0 ? 3 : 4);
    encoder.writeString(name);
    encoder.writeString(value.message);
    writeErrorProperties(encoder, properties);
    return undefined;
}
function writeErrorProperties(encoder, properties) {
    encoder.writeMap(properties.hiddenNames, properties.hiddenValues);
    if (properties.names.length > 0)
        encoder.writeMap(properties.names, properties.values);
}
/** Hidden methods and symbols are left out: Node and tools put them on errors, and they say nothing elsewhere. */
function errorPropertiesOf(error) {
    const found = { hiddenNames: [], hiddenValues: [], names: [], values: [] };
    for (const name of Reflect.ownKeys(error)) {
        const property = Object.getOwnPropertyDescriptor(error, name);
        if (property === undefined)
            continue;
        if (typeof name === "symbol") {
            if (property.enumerable)
                return undefined;
            continue;
        }
        let value = property.value;
        if (name === "stack") {
            // An accessor in newer versions of V8, and anything at all after a custom `Error.prepareStackTrace`.
            value = error.stack;
            if (typeof value !== "string")
                continue;
        }
        else if (property.get !== undefined || property.set !== undefined) {
            return undefined;
        }
        else if (!property.enumerable && typeof value === "function" && name !== "cause") {
            continue;
        }
        (property.enumerable ? found.names : found.hiddenNames).push(name);
        (property.enumerable ? found.values : found.hiddenValues).push(value);
    }
    return found;
}
// ---------------------------------------------------------------------------------------------------------------------
// Internal slots
function getterOf(target, name) {
    return Object.getOwnPropertyDescriptor(target, name)?.get;
}
/** What a method of a built-in type reads from its receiver, or `undefined` where the receiver is not of the type. */
function slotOf(method, value) {
    try {
        return method.call(value);
    }
    catch {
        return undefined;
    }
}
//# sourceMappingURL=encode-built-in.js.map