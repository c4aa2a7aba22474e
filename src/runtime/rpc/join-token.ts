/**
 * Join tokens, `SHOAL1-<hash of the authority>-<secret>`: with one, a machine that knows nothing else about a cluster can recognize the
 * real head before it sends a secret, and the head admits it.
 *
 * Both parts are 64 hex digits. The head keeps only the hash of the secret, which is also the token's id. No message shows a token.
 */
interface JoinToken {
  /** SHA-256 of the authority's certificate. */
  authorityHash: string;
  /** 256 random bits. */
  secret: string;
}

const FORM = /^SHOAL1-([0-9a-f]{64})-([0-9a-f]{64})$/;

export function formatJoinToken({ authorityHash, secret }: JoinToken): string {
  return `SHOAL1-${authorityHash}-${secret}`;
}

/** @throws RangeError that describes the fault of the text, without repeating it. */
export function parseJoinToken(text: string): JoinToken {
  const [, authorityHash, secret] = FORM.exec(text.trim()) ?? [];
  if (authorityHash === undefined || secret === undefined)
    throw new RangeError(`Cannot use a join token: ${whatIsWrong(text.trim())}. Copy the whole of what the head printed, SHOAL1-...-...`);
  return { authorityHash, secret };
}

function whatIsWrong(text: string): string {
  if (text === "") return "it is empty";
  const version = /^SHOAL(\d+)-/.exec(text)?.[1];
  if (version === undefined) return "it does not begin with SHOAL1-";
  if (version !== "1") return `it is of version ${version}, and this version of shoal reads version 1`;
  const whole = formatJoinToken({ authorityHash: "0".repeat(64), secret: "0".repeat(64) }).length;
  if (text.length !== whole) return `it should have ${whole} characters: received ${text.length}`;
  return "it has characters other than hex digits";
}
