/** Whether bytes are UTF-8, and where they cease to be. */
import { isUtf8 } from "node:buffer";

/** The position of the first invalid byte in UTF-8; -1 if there is none. */
export function badUtf8At(bytes: Uint8Array): number {
  if (isUtf8(bytes)) return -1;
  // Halves the range with the bad byte. A cut inside a character moves back to its first byte.
  let good = 0;
  let bad = bytes.length;
  while (bad - good > 4) {
    let middle = (good + bad) >> 1;
    while (middle > good && ((bytes[middle] as number) & 0xc0) === 0x80) middle -= 1;
    if (middle === good) break;
    if (isUtf8(bytes.subarray(good, middle))) good = middle;
    else bad = middle;
  }
  while (good < bad) {
    const length = characterLength(bytes[good] as number);
    if (!isUtf8(bytes.subarray(good, good + length)) || good + length > bytes.length) return good;
    good += length;
  }
  return good;
}

function characterLength(first: number): number {
  if (first < 0x80) return 1;
  return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
}
