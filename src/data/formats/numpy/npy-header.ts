/**
 * The header of NumPy's files: magic, version, and a dictionary in Python's notation with the type of the elements, their order and the shape.
 *
 * The header is read by patterns and never evaluated. Versions 1 to 3 differ in the length of the length and in the encoding. Objects of
 * Python, which the rest of the file would hold as pickled code, are refused here.
 */
import { DataError } from "../../errors.ts";
import { NPY_HEADER_BYTES_MAX, NPY_PREFIX_BYTES } from "../../limits.ts";

/** In which form elements lie in the file. */
interface ElementType {
  /** NumPy's name, as `NdArray` has it. */
  readonly dtype: string;
  /** How many bytes of a number lie in the file's order: complex numbers have two numbers each. */
  readonly wordBytes: number;
  readonly bytes: number;
  readonly isBigEndian: boolean;
}

export interface NpyHeader extends ElementType {
  readonly shape: readonly number[];
  /** The first index runs fastest. */
  readonly isFortran: boolean;
}

const MAGIC = Uint8Array.of(0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59);

/**
 * Returns the byte range of a file's dictionary.
 *
 * @param prefix - the file's first {@link NPY_PREFIX_BYTES} bytes, or the whole of a shorter file
 * @throws DataError for any other file
 */
export function npyHeaderRange(prefix: Uint8Array, file: string): { start: number; end: number } {
  const view = new DataView(prefix.buffer, prefix.byteOffset, prefix.byteLength);
  if (prefix.length < 10 || MAGIC.some((byte, i) => prefix[i] !== byte))
    throw new DataError(`Cannot read ${file}: it is no .npy file: it does not begin with \\x93NUMPY`, {
      hint: "see whether the file is whole, and of that format",
    });
  const version = prefix[6] as number;
  if (version < 1 || version > 3)
    throw new DataError(`Cannot read ${file}: it has version ${version}.${prefix[7]} of NumPy's format: 1 to 3 are read`);
  if (version > 1 && prefix.length < NPY_PREFIX_BYTES)
    throw new DataError(`Cannot read ${file}: it is cut off in its header, at byte ${prefix.length}`);
  const length = version === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  if (length > NPY_HEADER_BYTES_MAX)
    throw new DataError(`Cannot read ${file}: it has a header of ${length} bytes: at most ${NPY_HEADER_BYTES_MAX} are read`);
  const start = version === 1 ? 10 : 12;
  return { start, end: start + length };
}

/** @throws DataError for a dictionary that is none of NumPy's, and for elements that are no numbers */
export function parseNpyHeader(dictionary: Uint8Array, file: string): NpyHeader {
  const text = Buffer.from(dictionary.buffer, dictionary.byteOffset, dictionary.byteLength).toString("utf8").trim();
  const descr = /["']descr["']\s*:\s*(?:["']([^"']*)["']|(\[))/.exec(text);
  const order = /["']fortran_order["']\s*:\s*(True|False)/.exec(text)?.[1];
  const shape = /["']shape["']\s*:\s*\(([0-9L,\s]*)\)/.exec(text)?.[1];
  if (!text.startsWith("{") || descr === null || order === undefined || shape === undefined)
    throw new DataError(`Cannot read ${file}: its header is none of NumPy's: ${JSON.stringify(text.slice(0, 200))}`);
  if (descr[2] !== undefined)
    throw new DataError(`Cannot read ${file}: it has structured elements, with parts that have names`, {
      hint: "save each part as an array of its own, such as by numpy.savez",
    });
  const lengths = shape.split(",").filter((part) => part.trim() !== "");
  return {
    ...parseElementType(descr[1] as string, file),
    isFortran: order === "True",
    shape: lengths.map((part) => Number.parseInt(part, 10)),
  };
}

const ELEMENTS: Readonly<Record<string, string>> = {
  b1: "bool",
  i1: "int8",
  i2: "int16",
  i4: "int32",
  i8: "int64",
  u1: "uint8",
  u2: "uint16",
  u4: "uint32",
  u8: "uint64",
  f2: "float16",
  f4: "float32",
  f8: "float64",
  c8: "complex64",
  c16: "complex128",
};

function parseElementType(descr: string, file: string): ElementType {
  const [, order, code = "", unit] = /^([<>|=]?)([a-zA-Z]\d*)(\[(?:s|ms|us|ns|D)\])?$/.exec(descr) ?? [];
  const isBigEndian = order === ">";
  if (code === "m8" && unit !== undefined && unit !== "[D]") return { dtype: `timedelta64${unit}`, wordBytes: 8, bytes: 8, isBigEndian };
  if (code === "M8" && unit !== undefined) return { dtype: `datetime64${unit}`, wordBytes: 8, bytes: 8, isBigEndian };
  const dtype = unit === undefined && Object.hasOwn(ELEMENTS, code) ? ELEMENTS[code] : undefined;
  if (dtype !== undefined) {
    const bytes = Number(code.slice(1));
    return { dtype, bytes, wordBytes: code.startsWith("c") ? bytes / 2 : bytes, isBigEndian };
  }
  if (code.startsWith("O"))
    throw new DataError(`Cannot read ${file}: it has objects of Python as elements: they are pickled code, which is never run`, {
      hint: "save numbers: array.astype(float), or a column a file",
    });
  throw new DataError(
    `Cannot read ${file}: it has elements of the type ${JSON.stringify(descr)}, which is none of numbers, booleans and moments`,
    {
      hint: "convert them in NumPy: array.astype('float64')",
    },
  );
}

const CODES: ReadonlyMap<string, string> = new Map(Object.entries(ELEMENTS).map(([code, dtype]) => [dtype, code]));
/** NumPy has the data begin at a multiple of this. */
const ALIGNMENT = 64;

/** All before the elements of a file: version 1, little-endian, in C's order. */
export function npyHeader(dtype: string, shape: readonly number[]): Uint8Array {
  const code = CODES.get(dtype) as string;
  const order = code.endsWith("1") && !code.startsWith("c") ? "|" : "<";
  const lengths = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const text = `{'descr': '${order}${code}', 'fortran_order': False, 'shape': (${lengths}), }`;
  const total = Math.ceil((10 + text.length + 1) / ALIGNMENT) * ALIGNMENT;
  const header = Buffer.alloc(total, " ");
  header.set(MAGIC);
  header.writeUInt16LE(1, 6);
  header.writeUInt16LE(total - 10, 8);
  header.write(text, 10, "latin1");
  header[total - 1] = 10;
  return header;
}
