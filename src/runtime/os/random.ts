/** Randomness and secrets of the operating system: ids, session tokens, and their comparison in constant time. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

export function randomHex(byteCount: number): string {
  return randomBytes(byteCount).toString("hex");
}

/** 256 bits, as every endpoint asks for. */
export function newToken(): string {
  return randomHex(32);
}

/** Hashing first makes the lengths equal, which `timingSafeEqual` needs, and hides the length of the secret. */
export function tokensEqual(received: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(received), digest(expected));
}
