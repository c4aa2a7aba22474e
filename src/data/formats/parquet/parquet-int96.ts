/**
 * Times of Spark in Parquet's old form INT96, which says no unit.
 *
 * The decoder makes nanoseconds in 64 bits of them, and another time of any that is outside the years 1677 to 2262, such as the 9999-12-31 that stands for "never". Spark knows
 * microseconds in UTC, so its files are shown to the decoder with one more entry at the end of their footer: Arrow's schema of the file, in which these columns are that. The decoder
 * takes a column's unit from there. INT96 of other programs may have nanoseconds, and stays as the decoder makes it.
 *
 * The footer is Thrift's compact form (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md).
 */
import {
  type DataType as ArrowType,
  type Field as ArrowField,
  tableFromIPC,
  tableToIPC,
  Table,
  timestamp,
  TimeUnit,
} from "@uwdata/flechette";
import type { FileMetaData } from "hyparquet";

/** Times of Spark in INT96, by the numbers of the schema's leaves, and where the file's footer begins, in which they are to be microseconds. */
export interface SparkTimes {
  readonly leaves: readonly number[];
  readonly footerAt: number;
}

/** Undefined for files of other programs, and without such times. */
export function sparkTimesOf(metadata: FileMetaData, byteLength: number): SparkTimes | undefined {
  const { schema, key_value_metadata: entries, metadata_length: footerBytes } = metadata;
  if (entries?.some(({ key }) => key.startsWith("org.apache.spark.")) !== true) return undefined;
  const columns = schema.filter(({ num_children }) => num_children === undefined);
  const leaves = columns.flatMap(({ type }, leaf) => (type === "INT96" ? [leaf] : []));
  return leaves.length === 0 ? undefined : { leaves, footerAt: byteLength - TRAILER_BYTES - footerBytes };
}

/** The footer with the entry, in the place of all other entries; both end with the length of the footer and the mark. */
export function footerInMicroseconds(footer: Uint8Array, schemaStream: Uint8Array, leaves: readonly number[]): Uint8Array {
  const hint = schemaInMicroseconds(schemaStream, new Set(leaves));
  const entry = Buffer.concat([LIST_OF_ENTRIES, binary(Buffer.from("ARROW:schema")), binary(Buffer.from(hint.toString("base64"))), STOP]);
  // The last byte before length and mark ends the footer's struct. A field that comes twice is what it was last.
  const body = Buffer.concat([footer.subarray(0, footer.length - TRAILER_BYTES - 1), entry, STOP]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(body.length);
  return Buffer.concat([body, length, footer.subarray(footer.length - 4)]);
}

/** The length of the footer, and the mark. */
const TRAILER_BYTES = 8;

/** A list, as field 5, of one struct. */
const LIST_OF_ENTRIES = Uint8Array.of(0x09, 5 << 1, 0x1c);
/** The end of a struct. */
const STOP = Uint8Array.of(0);

/** Bytes as the next field of a struct. */
function binary(bytes: Uint8Array): Buffer {
  const length: number[] = [];
  for (let rest = bytes.length; ; rest >>>= 7) {
    if (rest < 128) {
      length.push(rest);
      break;
    }
    length.push((rest & 127) | 128);
  }
  return Buffer.concat([Uint8Array.of(0x18, ...length), bytes]);
}

function schemaInMicroseconds(stream: Uint8Array, leaves: ReadonlySet<number>): Buffer {
  const { schema } = tableFromIPC(stream);
  let leaf = 0;
  const changed = (type: ArrowType): ArrowType => {
    const children = (type as { children?: readonly ArrowField[] }).children;
    if (children !== undefined)
      return { ...type, children: children.map((child) => ({ ...child, type: changed(child.type) })) } as ArrowType;
    leaf += 1;
    return leaves.has(leaf - 1) ? timestamp(TimeUnit.MICROSECOND, "UTC") : type;
  };
  const fields = schema.fields.map((field) => ({ ...field, type: changed(field.type) }));
  return Buffer.from(tableToIPC(new Table({ ...schema, fields }, []), { format: "stream" }) as Uint8Array);
}
