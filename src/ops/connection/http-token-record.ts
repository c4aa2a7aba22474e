/**
 * The place of the HTTP server's tokens: commands make them, and the server reads them.
 *
 * The head keeps each token under its hash, so readers of the tables find only hashes.
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
