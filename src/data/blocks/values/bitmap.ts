/** Bitmaps as Arrow has them: bit `i` is bit `i & 7` of byte `i >> 3`; in a validity bitmap 1 is a value and 0 is a null. */

export function bitmapBytes(length: number): number {
  return (length + 7) >> 3;
}

export function getBit(bits: Uint8Array, index: number): boolean {
  return ((bits[index >> 3] as number) & (1 << (index & 7))) !== 0;
}

export function setBit(bits: Uint8Array, index: number): void {
  bits[index >> 3] = (bits[index >> 3] as number) | (1 << (index & 7));
}

/** How many of `length` bits from `offset` on are 0. */
export function countZeros(bits: Uint8Array, offset: number, length: number): number {
  let zeros = 0;
  const end = offset + length;
  let index = offset;
  for (; index < end && (index & 7) !== 0; index += 1) if (!getBit(bits, index)) zeros += 1;
  for (; index + 8 <= end; index += 8) zeros += 8 - (ONES_OF_BYTE[bits[index >> 3] as number] as number);
  for (; index < end; index += 1) if (!getBit(bits, index)) zeros += 1;
  return zeros;
}

/** Sets those of `length` bits of `target` from `at` on to 1 that are 1 in `source` from `offset` on; without a source all of them. */
export function orBits(target: Uint8Array, at: number, source: Uint8Array | undefined, offset: number, length: number): void {
  if ((at & 7) === 0 && (offset & 7) === 0) {
    const whole = length >> 3;
    if (source === undefined) target.fill(0xff, at >> 3, (at >> 3) + whole);
    else target.set(source.subarray(offset >> 3, (offset >> 3) + whole), at >> 3);
    for (let i = whole << 3; i < length; i += 1) if (source === undefined || getBit(source, offset + i)) setBit(target, at + i);
    return;
  }
  for (let i = 0; i < length; i += 1) if (source === undefined || getBit(source, offset + i)) setBit(target, at + i);
}

const ONES_OF_BYTE = Uint8Array.from({ length: 256 }, (_, byte) => {
  let ones = 0;
  for (let rest = byte; rest > 0; rest >>= 1) ones += rest & 1;
  return ones;
});
