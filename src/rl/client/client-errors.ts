/** The errors of `shoal/rl-client`. */

/** The connection to the algorithm is lost, or could not be made. The next episode connects again. */
export class LinkClosedError extends Error {
  override readonly name = "LinkClosedError";
}

/** The algorithm has refused this client: `code` says why. It does not connect again. */
export class LinkRefusedError extends Error {
  override readonly name = "LinkRefusedError";
  /** `"VERSION"`, `"TOKEN"`, `"FULL"`, `"FRAME"`, `"ORDER"`, `"IDLE"` or `"CLOSING"`. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(`Cannot go on: the algorithm refused this client: ${message}`);
    this.code = code;
  }
}
