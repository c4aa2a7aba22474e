"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.readForm = readForm;
exports.readBigint = readBigint;
exports.readTimestamp = readTimestamp;
exports.viewOf = viewOf;
const tags_ts_1 = require("./tags.js");
/** Reads a form after its marker: `count` items follow. */
function readForm(decoder, form, count) {
    switch (form) {
        case tags_ts_1.FORM.MAP:
            return readMapEntries(decoder, count);
        case tags_ts_1.FORM.SET:
            return readSetItems(decoder, count);
        case tags_ts_1.FORM.REG_EXP:
            return readRegExp(decoder, count);
        case tags_ts_1.FORM.ERROR:
            return readError(decoder, count);
        case tags_ts_1.FORM.DOM_EXCEPTION:
            return readDomException(decoder, count);
        case tags_ts_1.FORM.NULL_PROTOTYPE: {
            decoder.expectCount("an object without a prototype", count, 1);
            const target = decoder.register(Object.create(null));
            decoder.readMapInto(target);
            return target;
        }
        case tags_ts_1.FORM.BOXED:
            decoder.expectCount("a boxed primitive", count, 1);
            return readBoxed(decoder);
        case tags_ts_1.FORM.MATCH: {
            decoder.expectCount("a match", count, 2);
            const items = decoder.register([]);
            decoder.readItemsInto(items);
            const properties = {};
            decoder.readMapInto(properties);
            if (Object.hasOwn(properties, "length"))
                decoder.fail("the length of a match is not one of its properties");
            defineAll(items, properties, true);
            return items;
        }
        case tags_ts_1.FORM.SPARSE_ARRAY:
            return readSparseArray(decoder, count);
        default:
            return decoder.fail(`no form has the number ${form}`);
    }
}
// ---------------------------------------------------------------------------------------------------------------------
// Collections
function readMapEntries(decoder, count) {
    if (count % 2 !== 0)
        decoder.fail(`a Map has keys and values in turn: received ${count} parts`);
    const map = decoder.register(new Map());
    for (let index = 0; index < count; index += 2) {
        const key = decoder.readValue();
        map.set(key, decoder.readValue());
    }
    return map;
}
function readSetItems(decoder, count) {
    const set = decoder.register(new Set());
    for (let index = 0; index < count; index += 1)
        set.add(decoder.readValue());
    return set;
}
const ARRAY_LENGTH_MAX = 0xffff_ffff;
function readSparseArray(decoder, count) {
    if (count % 2 !== 1)
        decoder.fail(`a sparse array has its length, then indices and elements in turn: received ${count} parts`);
    const items = decoder.register([]);
    const length = readIndex(decoder, ARRAY_LENGTH_MAX + 1);
    // The largest length makes V8 keep the elements in a table, so that a length alone takes no memory: measured 0 MB instead of 240 MB.
    items.length = ARRAY_LENGTH_MAX;
    items.length = length;
    for (let index = 1; index < count; index += 2) {
        const at = readIndex(decoder, length);
        items[at] = decoder.readValue();
    }
    return items;
}
function readIndex(decoder, limit) {
    const index = decoder.readValue();
    const isIndex = typeof index === "number" && Number.isInteger(index) && index >= 0 && index < limit;
    return isIndex ? index : decoder.fail("a sparse array has an index outside its length");
}
// ---------------------------------------------------------------------------------------------------------------------
// Scalars with a type
/** Two's complement, big-endian. */
function readBigint(decoder, size) {
    if (size === 0)
        decoder.fail("a bigint has at least one byte");
    const hex = decoder.readHex(size);
    try {
        return BigInt.asIntN(size * 8, BigInt(`0x${hex}`));
    }
    catch (error) {
        return decoder.fail(`a bigint of ${size} bytes is too large`, error);
    }
}
/** MessagePack's own timestamps in their three sizes, to the millisecond. */
function readTimestamp(decoder, size) {
    if (size === 4)
        return new Date(decoder.readUint32() * 1000);
    if (size === 8) {
        const high = decoder.readUint32();
        const seconds = (high & 3) * 0x1_0000_0000 + decoder.readUint32();
        return new Date(seconds * 1000 + Math.floor((high >>> 2) / 1e6));
    }
    if (size !== 12)
        decoder.fail(`a timestamp has 4, 8 or 12 bytes: received ${size}`);
    const nanoseconds = decoder.readUint32();
    return new Date(Number(decoder.readInt64()) * 1000 + Math.floor(nanoseconds / 1e6));
}
function readRegExp(decoder, count) {
    if (count !== 2 && count !== 3)
        decoder.fail(`a regular expression has 2 or 3 parts: received ${count}`);
    const source = readString(decoder);
    const flags = readString(decoder);
    let regExp;
    try {
        regExp = new RegExp(source, flags);
    }
    catch (error) {
        return decoder.fail("a regular expression has no valid source or flags", error);
    }
    decoder.register(regExp);
    if (count === 3) {
        const lastIndex = decoder.readValue();
        regExp.lastIndex = typeof lastIndex === "number" ? lastIndex : decoder.fail("the last index of a regular expression is not a number");
    }
    return regExp;
}
function readBoxed(decoder) {
    // The box comes first in the bytes: its id is not meant for what is in it, which is no object.
    const primitive = readPrimitive(decoder);
    return decoder.register(Object(primitive));
}
function readPrimitive(decoder) {
    const primitive = decoder.readValue();
    const isBoxable = primitive !== null && primitive !== undefined && typeof primitive !== "object" && typeof primitive !== "function";
    return isBoxable ? primitive : decoder.fail("a boxed primitive is not a number, string, boolean or bigint");
}
function readString(decoder) {
    const text = decoder.readValue();
    return typeof text === "string" ? text : decoder.fail("a string is missing");
}
const elementConstructors = new Map();
for (const [name, kind] of Object.entries(tags_ts_1.BUFFER_KIND)) {
    const constructor = globalThis[name];
    if (name.endsWith("Array") && constructor !== undefined)
        elementConstructors.set(kind, constructor);
}
/** A view of the kind on the bytes themselves where they are aligned for it; on a copy of them elsewhere. */
function viewOf(decoder, kind, bytes) {
    const { buffer, byteOffset, byteLength } = bytes;
    if (kind === tags_ts_1.BUFFER_KIND.Buffer)
        return Buffer.from(buffer, byteOffset, byteLength);
    if (kind === tags_ts_1.BUFFER_KIND.DataView)
        return new DataView(buffer, byteOffset, byteLength);
    if (kind === tags_ts_1.BUFFER_KIND.ArrayBuffer) {
        // An ArrayBuffer cannot show a part of another one.
        return byteLength === buffer.byteLength ? buffer : buffer.slice(byteOffset, byteOffset + byteLength);
    }
    const constructor = elementConstructors.get(kind);
    if (constructor === undefined)
        return decoder.fail(`no buffer has the kind ${kind} here`);
    const elementBytes = constructor.BYTES_PER_ELEMENT;
    if (byteLength % elementBytes !== 0)
        decoder.fail(`a buffer with elements of ${elementBytes} bytes has ${byteLength}`);
    if (byteOffset % elementBytes === 0)
        return new constructor(buffer, byteOffset, byteLength / elementBytes);
    return new constructor(buffer.slice(byteOffset, byteOffset + byteLength), 0, byteLength / elementBytes);
}
// ---------------------------------------------------------------------------------------------------------------------
// Errors
function readError(decoder, count) {
    if (count !== 2 && count !== 3)
        decoder.fail(`an error has 2 or 3 parts: received ${count}`);
    const className = readString(decoder);
    const errorClass = tags_ts_1.ERROR_CLASSES.get(className);
    if (errorClass === undefined && className !== tags_ts_1.AGGREGATE_ERROR_NAME)
        decoder.fail(`no error class has the name ${className}`);
    const error = withoutStackTrace(() => (errorClass === undefined ? new AggregateError([]) : new errorClass()));
    // The constructor of AggregateError sets `errors`, which the sender may not have had.
    if (errorClass === undefined)
        delete error.errors;
    decoder.register(error);
    return readErrorProperties(decoder, error, count === 3);
}
function readDomException(decoder, count) {
    if (count !== 3 && count !== 4)
        decoder.fail(`a DOMException has 3 or 4 parts: received ${count}`);
    // Its properties are read before it exists only as far as they are text, so nothing in them can lead back to it yet.
    const name = readString(decoder);
    const message = readString(decoder);
    const error = withoutStackTrace(() => new DOMException(message, name));
    decoder.register(error);
    return readErrorProperties(decoder, error, count === 4);
}
function readErrorProperties(decoder, error, hasEnumerable) {
    const hidden = {};
    decoder.readMapInto(hidden);
    defineAll(error, hidden, false);
    if (hasEnumerable) {
        const fields = {};
        decoder.readMapInto(fields);
        defineAll(error, fields, true);
    }
    return error;
}
function defineAll(target, properties, enumerable) {
    for (const name of Object.keys(properties)) {
        Object.defineProperty(target, name, { value: properties[name], writable: true, configurable: true, enumerable });
    }
}
/** A trace of the decoder's own frames says nothing and takes 5 us. */
function withoutStackTrace(make) {
    const limit = Error.stackTraceLimit;
    Reflect.set(Error, "stackTraceLimit", 0);
    try {
        return make();
    }
    finally {
        Reflect.set(Error, "stackTraceLimit", limit);
    }
}
//# sourceMappingURL=decode-built-in.js.map