/**
 * Where the tokens of the HTTP server are kept, for the server, which reads them, and for the commands, which make them.
 *
 * The head keeps made tokens as values by the hash of each. A program of the cluster may read them: it finds hashes, and no token.
 */

/** No program's namespace contains a colon. */
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
