/**
 * What the other end of a link may not say: it is malformed, or another's to say.
 *
 * Thrown where it is found out; the link then ends the connection, says so to people, and takes what follows from the next one. No honest node says such a thing, so it is not worth
 * more than that: the message counts as handled, or the next connection would bring it again.
 */
export class LinkAbuseError extends Error {
  override readonly name = "LinkAbuseError";
}

/** @throws LinkAbuseError unless it holds */
export function mustHold(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new LinkAbuseError(otherwise);
}
