/** SHA-256 of text or bytes: for names of things that are found again by their content. */
import { createHash } from "node:crypto";

export function sha256Hex(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
