/** SHA-256 of text or bytes, for names of things that are found again by their content; and with a key, for proofs that somebody knows it. */
import { createHash, createHmac } from "node:crypto";

export function sha256Hex(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** HMAC-SHA-256: nobody who does not know the key can make it, and it does not tell the key. */
export function keyedSha256Hex(key: string, content: string): string {
  return createHmac("sha256", key).update(content).digest("hex");
}
