/**
 * Reads ranges of a package from the nodes that have it, in pieces, several at a time.
 *
 * A source that does not answer, or no longer has the package, is not used again; its outstanding pieces are requested from the next. Fails
 * when no source is left. Decides the size of a piece and the number in flight; owns nothing. Called by `package-exchange.ts`.
 */
import { messageOf } from "../base/texts/describe.ts";
import type { NodeId } from "../base/ids.ts";
import type { Reply } from "../rpc/peer-connection.ts";
import { MESSAGE } from "../wire/messages.ts";
import type { PackageReadHeader } from "../wire/cluster/package-messages.ts";
import type { ReplyTo } from "../wire/tables/replies.ts";
import { PACKAGE_PIECE_BYTES } from "./limits.ts";

const WINDOW = 4;

/** The daemon of another node, over whatever link there is. */
export interface PackagePeer {
  send(type: number, header: unknown): void;
  request<N extends number>(type: N, header: unknown, options?: { timeoutMs?: number }): Promise<Reply<ReplyTo<N>>>;
}

export interface Fetched {
  readonly hash: string;
  /** In order of use. */
  readonly sources: readonly { readonly node: NodeId; readonly peer: PackagePeer | undefined }[];
  readonly timeoutMs: number;
}

interface Range {
  readonly offset: number;
  readonly length: number;
}

/** Returns the bytes of all ranges if there is no receiver for them; else nothing. @throws Error with the answer of each source */
export async function fetchContents(
  { hash, sources, timeoutMs }: Fetched,
  part: PackageReadHeader["part"],
  ranges: readonly Range[],
  write?: (bytes: Uint8Array, offset: number) => Promise<void>,
): Promise<Uint8Array> {
  const pieces = piecesOf(ranges);
  const collected: Uint8Array[] = [];
  const said: string[] = [];
  let source = 0;
  const readPiece = async ({ offset, length }: Range): Promise<Uint8Array> => {
    for (;;) {
      const at = source;
      const asked = sources[at];
      if (asked === undefined) throw new Error(`no source is left: ${said.join("; ")}`);
      try {
        if (asked.peer === undefined) throw new Error("it is gone");
        const header: PackageReadHeader = { hash, part, offset, length };
        const { body } = await asked.peer.request(MESSAGE.PACKAGE_READ, header, { timeoutMs });
        if (body.length !== length) throw new Error("it answered with other bytes than were asked for");
        return body;
      } catch (error) {
        // Several pieces may fail with one source: it counts once.
        if (at !== source) continue;
        said.push(`node ${asked.node.slice(0, 8)}: ${messageOf(error)}`);
        source += 1;
      }
    }
  };
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < pieces.length; index = next++) {
      const piece = pieces[index] as Range;
      const bytes = await readPiece(piece);
      if (write === undefined) collected[index] = bytes;
      else await write(bytes, piece.offset);
    }
  };
  // All workers end before this function does, as their file is closed afterwards.
  const ends = await Promise.allSettled(Array.from({ length: WINDOW }, work));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
  return Buffer.concat(collected);
}

function piecesOf(ranges: readonly Range[]): Range[] {
  return ranges.flatMap(({ offset, length }) =>
    Array.from({ length: Math.ceil(length / PACKAGE_PIECE_BYTES) }, (_, index) => ({
      offset: offset + index * PACKAGE_PIECE_BYTES,
      length: Math.min(PACKAGE_PIECE_BYTES, length - index * PACKAGE_PIECE_BYTES),
    })),
  );
}
