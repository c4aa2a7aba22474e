/**
 * Where the tokens of the HTTP server are kept, for the server, which reads them, and for the commands, which make them.
 *
 * The head keeps made tokens as values by the hash of each, so whoever reads the head's tables finds hashes.
 */

/** `kvPut` and its siblings refuse namespaces that begin so. */
export const HTTP_TOKENS_NAMESPACE = "shoal:http-tokens";

/** In the head's folder. */
export const httpTokenFileName = "http-token";

/** Facts about a made token. The key is the token's hash. */
export interface HttpTokenRecord {
  readonly role: "view" | "admin";
  readonly createdAtMs: number;
  /** Undefined: until it is revoked. */
  readonly expiresAtMs?: number | undefined;
}
