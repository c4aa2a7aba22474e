/**
 * Writes DER, the binary form of certificates: tag, length, content. Covers only the needs of a cluster's certificate, and reads nothing.
 *
 * Integers are unsigned; a leading zero keeps them so.
 */

export function sequence(...items: Uint8Array[]): Buffer {
  return element(0x30, ...items);
}

export function set(...items: Uint8Array[]): Buffer {
  return element(0x31, ...items);
}

export function boolean(value: boolean): Buffer {
  return element(0x01, Buffer.of(value ? 0xff : 0));
}

export function unsignedInteger(bytes: Uint8Array): Buffer {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start += 1;
  const rest = bytes.subarray(start);
  return ((rest[0] as number) & 0x80) === 0 ? element(0x02, rest) : element(0x02, Buffer.of(0), rest);
}

/** Encodes dotted numbers, such as `2.5.29.17`. */
export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const number of rest) {
    const digits = [number & 0x7f];
    for (let left = number >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80);
    bytes.push(...digits);
  }
  return element(0x06, Buffer.from(bytes));
}

export function octets(content: Uint8Array): Buffer {
  return element(0x04, content);
}

/** `unusedBits`: how many of the last byte do not count. */
export function bits(content: Uint8Array, unusedBits = 0): Buffer {
  return element(0x03, Buffer.of(unusedBits), content);
}

export function text(value: string): Buffer {
  return element(0x0c, Buffer.from(value, "utf8"));
}

/** Whole seconds of UTC; the standard wants two-digit years before 2050. */
export function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+Z$/g, "");
  return digits < "2050" ? element(0x17, Buffer.from(`${digits.slice(2)}Z`)) : element(0x18, Buffer.from(`${digits}Z`));
}

/** `[number]` around other elements. */
export function tagged(number: number, ...items: Uint8Array[]): Buffer {
  return element(0xa0 + number, ...items);
}

/** `[number]` in place of the tag of a plain element. */
export function taggedPlain(number: number, content: Uint8Array): Buffer {
  return element(0x80 + number, content);
}

function element(tag: number, ...contents: Uint8Array[]): Buffer {
  const size = contents.reduce((sum, content) => sum + content.length, 0);
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >>> 8, size & 0xff];
  if (size > 0xffff) throw new RangeError(`Cannot write a certificate: one of its parts is too long: received ${size} bytes`);
  return Buffer.concat([Buffer.of(tag, ...length), ...contents]);
}
