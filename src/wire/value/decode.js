"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.DecodeError = void 0;
exports.decodeValue = decodeValue;
/**
 * Decodes what `encode.ts` wrote, and MessagePack of other writers.
 *
 * Decides what bytes from another process may do: at most `DECODE_DEPTH_MAX` levels, no allocation that the bytes present do not justify, no
 * code made from text, no getter or setter run (`__proto__` becomes a property). Anything malformed is a `DecodeError`.
 * Invariant: an object is registered under its id before its content is read, so that content can lead back to it.
 */
const byte_reader_ts_1 = require("./byte-reader.js");
const decode_built_in_ts_1 = require("./decode-built-in.js");
const decode_error_ts_1 = require("./decode-error.js");
const limits_ts_1 = require("./limits.js");
const tags_ts_1 = require("./tags.js");
var decode_error_ts_2 = require("./decode-error.js");
Object.defineProperty(exports, "DecodeError", { enumerable: true, get: function () { return decode_error_ts_2.DecodeError; } });
/**
 * Decodes one value, which is all of `bytes`. Small buffers are copied; large ones are views of `buffers`, on whose memory the caller decides.
 *
 * @throws DecodeError for everything that is not one value of the format.
 */
function decodeValue(bytes, buffers, hooks) {
    const decoder = new ValueDecoder(bytes, buffers, hooks);
    try {
        return decoder.decode();
    }
    catch (error) {
        if ((0, limits_ts_1.isStackOverflow)(error))
            throw new decode_error_ts_1.DecodeError("Cannot read a value: it is nested too deeply for the stack that is left", { cause: error });
        throw error;
    }
}
/** Longer arrays grow as they are read: nested headers could otherwise each claim all of the bytes that are left. */
const PREALLOCATED_ITEMS_MAX = 1024;
const NO_ID = -1;
class ValueDecoder extends byte_reader_ts_1.ByteReader {
    #buffers;
    #hooks;
    #depth = 0;
    #buffersRead = 0;
    /** Names of the shapes that were defined so far. */
    #shapes;
    /** Objects that are referred to, by id. */
    #shared;
    /** The id that the next object gets. */
    #nextId = NO_ID;
    constructor(bytes, buffers, hooks) {
        super(bytes);
        this.#buffers = buffers;
        this.#hooks = hooks;
    }
    decode() {
        const value = this.readValue();
        if (this.position !== this.end)
            this.fail("bytes follow the value");
        return value;
    }
    readValue() {
        const tag = this.readUint8();
        if (tag < 0x80)
            return tag;
        if (tag < 0x90)
            return this.#readMap(tag & 0x0f);
        if (tag < 0xa0)
            return this.#readArray(tag & 0x0f);
        if (tag < 0xc0)
            return this.readText(tag & 0x1f);
        if (tag >= 0xe0)
            return tag - 256;
        switch (tag) {
            case 0xc0: // nil
                return null;
            case 0xc2:
                return false;
            case 0xc3:
                return true;
            case 0xc4: // bin 8
                return this.#readBytes(this.readUint8());
            case 0xc5:
                return this.#readBytes(this.readUint16());
            case 0xc6:
                return this.#readBytes(this.readUint32());
            case 0xc7: // ext 8
                return this.#readExtension(this.readUint8());
            case 0xc8:
                return this.#readExtension(this.readUint16());
            case 0xc9:
                return this.#readExtension(this.readUint32());
            case 0xca:
                return this.readFloat32();
            case 0xcb:
                return this.readFloat64();
            case 0xcc:
                return this.readUint8();
            case 0xcd:
                return this.readUint16();
            case 0xce:
                return this.readUint32();
            case 0xcf:
                return this.readUint64();
            case 0xd0: // int 8
                return (this.readUint8() << 24) >> 24;
            case 0xd1:
                return (this.readUint16() << 16) >> 16;
            case 0xd2:
                return this.readInt32();
            case 0xd3:
                return this.readInt64();
            case 0xd4: // fixext 1
                return this.#readExtension(1);
            case 0xd5:
                return this.#readExtension(2);
            case 0xd6:
                return this.#readExtension(4);
            case 0xd7:
                return this.#readExtension(8);
            case 0xd8:
                return this.#readExtension(16);
            case 0xd9: // str 8
                return this.readText(this.readUint8());
            case 0xda:
                return this.readText(this.readUint16());
            case 0xdb:
                return this.readText(this.readUint32());
            case 0xdc: // array 16
                return this.#readArray(this.readUint16());
            case 0xdd:
                return this.#readArray(this.readUint32());
            case 0xde: // map 16
                return this.#readMap(this.readUint16());
            case 0xdf:
                return this.#readMap(this.readUint32());
            default:
                return this.fail(`no form of MessagePack begins with ${tag}`);
        }
    }
    // -------------------------------------------------------------------------------------------------------------------
    // Identity
    /** Called with every object as soon as it exists. */
    register(value) {
        if (this.#nextId !== NO_ID)
            this.registerAs(this.takeId(), value);
        return value;
    }
    /** The id for an object that will exist only when its content is read. */
    takeId() {
        const id = this.#nextId;
        this.#nextId = NO_ID;
        return id;
    }
    registerAs(id, value) {
        if (id === NO_ID)
            return;
        this.#shared ??= new Map();
        if (this.#shared.has(id))
            this.fail(`two objects have the id ${id}`);
        this.#shared.set(id, value);
    }
    #readReference(size) {
        const id = this.readNumberOfSize(size);
        if (this.#shared === undefined || !this.#shared.has(id))
            this.fail(`no object before it has the id ${id}`);
        return this.#shared.get(id);
    }
    /** `[SHARED id, object]` */
    #readShared(id) {
        this.#nextId = id;
        const value = this.readValue();
        if (this.#nextId !== NO_ID)
            this.fail("only objects have an id");
        return value;
    }
    enter() {
        this.#depth += 1;
        if (this.#depth > limits_ts_1.DECODE_DEPTH_MAX)
            this.fail(`it is nested more than ${limits_ts_1.DECODE_DEPTH_MAX} levels deep`);
    }
    leave() {
        this.#depth -= 1;
    }
    // -------------------------------------------------------------------------------------------------------------------
    // Objects
    #readMap(size) {
        const target = {};
        this.register(target);
        this.#fillFromPairs(target, size);
        return target;
    }
    /** Reads a map into an object that exists already. */
    readMapInto(target) {
        const tag = this.readUint8();
        if (tag >= 0x80 && tag < 0x90)
            this.#fillFromPairs(target, tag & 0x0f);
        else if (tag === 0xde)
            this.#fillFromPairs(target, this.readUint16());
        else if (tag === 0xdf)
            this.#fillFromPairs(target, this.readUint32());
        else
            this.fail("a map is missing");
    }
    #fillFromPairs(target, size) {
        this.checkedCount(size, 2);
        this.enter();
        for (let index = 0; index < size; index += 1) {
            const name = this.#readName();
            const value = this.readValue();
            if (name === "__proto__")
                defineProperty(target, name, value);
            else
                target[name] = value;
        }
        this.leave();
    }
    #readName() {
        const tag = this.bytes[this.position];
        if (tag >= 0xa0 && tag < 0xc0) {
            this.position += 1;
            return this.readNameText(tag & 0x1f);
        }
        const name = this.readValue();
        return typeof name === "string" ? name : this.fail("the name of a property is not a string");
    }
    /** `[SHAPE n, value, …]` and `[SHAPE_DEFINITION names, value, …]` */
    #readShaped(names, count) {
        if (names.length !== count)
            this.fail(`a shape has ${names.length} properties: received ${count}`);
        const target = {};
        this.register(target);
        for (const name of names) {
            const value = this.readValue();
            if (name === "__proto__")
                defineProperty(target, name, value);
            else
                target[name] = value;
        }
        return target;
    }
    #readShapeDefinition(size) {
        const end = this.position + size;
        const tag = this.readUint8();
        const length = tag >= 0x90 && tag < 0xa0 ? tag & 0x0f : tag === 0xdc ? this.readUint16() : this.fail("a shape begins with an array of names");
        this.checkedCount(length, 1);
        const names = [];
        for (let index = 0; index < length; index += 1)
            names.push(this.#readName());
        if (this.position !== end)
            this.fail("the names of a shape do not end where it does");
        this.#shapes ??= [];
        this.#shapes.push(names);
        return names;
    }
    #shapeAt(number) {
        return this.#shapes?.[number] ?? this.fail(`no shape before it has the number ${number}`);
    }
    // -------------------------------------------------------------------------------------------------------------------
    // Arrays, and what begins with a marker
    #readArray(length) {
        this.checkedCount(length, 1);
        this.enter();
        const value = length > 0 && this.#isMarkerNext() ? this.#readMarked(length - 1) : this.#readItems(length);
        this.leave();
        return value;
    }
    #readItems(length) {
        const items = length <= PREALLOCATED_ITEMS_MAX ? new Array(length) : [];
        this.register(items);
        this.#fillItems(items, length);
        return items;
    }
    #fillItems(items, length) {
        const bytes = this.bytes;
        for (let index = 0; index < length; index += 1) {
            const at = this.position;
            if (bytes[at] === 0xd4 && bytes[at + 1] === tags_ts_1.EXTENSION.HOLE) {
                this.take(3);
                items.length = Math.max(items.length, index + 1);
            }
            else {
                items[index] = this.readValue();
            }
        }
    }
    /** Reads the elements of an array into one that exists already. */
    readItemsInto(items) {
        const tag = this.readUint8();
        if (tag >= 0x90 && tag < 0xa0)
            this.#fillItems(items, this.checkedCount(tag & 0x0f, 1));
        else if (tag === 0xdc)
            this.#fillItems(items, this.checkedCount(this.readUint16(), 1));
        else if (tag === 0xdd)
            this.#fillItems(items, this.checkedCount(this.readUint32(), 1));
        else
            this.fail("an array is missing");
    }
    /** Whether an extension with the type of a marker comes next. */
    #isMarkerNext() {
        const bytes = this.bytes;
        const at = this.position;
        const tag = bytes[at];
        if (tag < 0xc7 || tag > 0xd8 || (tag > 0xc9 && tag < 0xd4))
            return false;
        const type = bytes[at + (tag >= 0xd4 ? 1 : tag === 0xc7 ? 2 : tag === 0xc8 ? 3 : 5)];
        return type >= tags_ts_1.FIRST_MARKER && type < 0x80;
    }
    #readMarked(count) {
        const size = this.#readExtensionSize();
        const type = this.readUint8();
        switch (type) {
            case tags_ts_1.EXTENSION.FORM:
                return (0, decode_built_in_ts_1.readForm)(this, this.readNumberOfSize(size), count);
            case tags_ts_1.EXTENSION.SHAPE:
                return this.#readShaped(this.#shapeAt(this.readNumberOfSize(size)), count);
            case tags_ts_1.EXTENSION.SHAPE_DEFINITION:
                return this.#readShaped(this.#readShapeDefinition(size), count);
            case tags_ts_1.EXTENSION.SHARED: {
                const id = this.readNumberOfSize(size);
                this.expectCount("an id", count, 1);
                // It is no level of the value: the encoder puts it around an object afterwards.
                this.leave();
                const value = this.#readShared(id);
                this.enter();
                return value;
            }
            case tags_ts_1.EXTENSION.CUSTOM:
                this.expectCount("a custom form", count, 1);
                return this.#readCustom(this.readNumberOfSize(size));
            default:
                return this.fail(`no marker has the type ${type}`);
        }
    }
    /** After the first byte of an extension has been looked at. */
    #readExtensionSize() {
        const tag = this.readUint8();
        if (tag >= 0xd4)
            return 1 << (tag - 0xd4);
        if (tag === 0xc7)
            return this.readUint8();
        return tag === 0xc8 ? this.readUint16() : this.readUint32();
    }
    expectCount(what, count, expected) {
        if (count !== expected)
            this.fail(`${what} has ${expected} parts: received ${count}`);
    }
    #readCustom(kind) {
        if (kind >= limits_ts_1.CUSTOM_KINDS_MAX)
            this.fail(`the kind of a custom form is outside 0..${limits_ts_1.CUSTOM_KINDS_MAX - 1}: received ${kind}`);
        const id = this.takeId();
        const value = this.#hooks.revive(kind, this.readValue());
        this.registerAs(id, value);
        return value;
    }
    // -------------------------------------------------------------------------------------------------------------------
    // Extensions and bytes
    #readExtension(size) {
        const type = this.readUint8();
        switch (type) {
            case tags_ts_1.EXTENSION.UNDEFINED:
                this.take(size);
                return undefined;
            case tags_ts_1.EXTENSION.BIGINT:
                return (0, decode_built_in_ts_1.readBigint)(this, size);
            case tags_ts_1.EXTENSION.DATE:
                if (size !== 8)
                    this.fail(`a date has 8 bytes: received ${size}`);
                return this.register(new Date(this.readFloat64()));
            case tags_ts_1.EXTENSION.UTF16_STRING:
                return this.readUtf16Text(size);
            case tags_ts_1.EXTENSION.BUFFER: {
                if (size < 1)
                    this.fail("a buffer begins with its kind");
                const kind = this.readUint8();
                return this.register((0, decode_built_in_ts_1.viewOf)(this, kind, this.readCopy(size - 1)));
            }
            case tags_ts_1.EXTENSION.OUT_OF_BAND_BUFFER:
                return this.#readOutOfBandBuffer(size);
            case tags_ts_1.EXTENSION.REFERENCE:
                return this.#readReference(size);
            case tags_ts_1.EXTENSION.TIMESTAMP:
                return this.register((0, decode_built_in_ts_1.readTimestamp)(this, size));
            case tags_ts_1.EXTENSION.HOLE:
                return this.fail("a hole is not in an array");
            default:
                return this.fail(type >= tags_ts_1.FIRST_MARKER && type < 0x80 ? `a marker of type ${type} is not first in an array` : `no extension has the type ${type}`);
        }
    }
    #readBytes(size) {
        return this.register(this.readCopy(size));
    }
    #readOutOfBandBuffer(size) {
        if (size !== 5)
            this.fail(`an out-of-band buffer has 5 bytes: received ${size}`);
        const kind = this.readUint8();
        const index = this.readUint32();
        // Each is named once and in order, or a few bytes could ask for many copies of a large one.
        const bytes = this.#buffers[index];
        if (bytes === undefined || index !== this.#buffersRead) {
            return this.fail(`out-of-band buffer ${this.#buffersRead} of ${this.#buffers.length} comes next: received number ${index}`);
        }
        this.#buffersRead += 1;
        return this.register((0, decode_built_in_ts_1.viewOf)(this, kind, bytes));
    }
}
function defineProperty(target, name, value) {
    Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: true });
}
//# sourceMappingURL=decode.js.map