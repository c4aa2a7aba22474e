/** SHA-256 of text: for names of things that are found again by their content. */
import { createHash } from "node:crypto";

export function sha256Hex(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
