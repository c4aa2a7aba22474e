/**
 * Fetches the folders of jobs whose drivers are on other nodes, and offers the folders of this node's drivers to them.
 *
 * The node of a folder packs it when another node first asks, once a job. The other node fetches the package by its hash, once for all
 * waiters, from any node that has it, and takes files that it already has from earlier packages. When a source is silent or dead the fetch
 * continues from the next one. Owned by the daemon's process (`entry/daemon.ts`); hashes of files are checked where the package is
 * unpacked.
 */
import { asError, messageOf } from "../base/texts/describe.ts";
import type { JobId, NodeId } from "../base/ids.ts";
import {
  CONTENTS_FILE,
  makeFolder,
  MANIFEST_FILE,
  PackageWriter,
  readRange,
  readWhole,
  removeTree,
} from "../os/files/archives/package-files.ts";
import { joinPath } from "../os/files/paths.ts";
import { MESSAGE } from "../wire/messages.ts";
import type { PackageHeldHeader, PackageOfferHeader, PackageOfferedHeader, PackageReadHeader } from "../wire/cluster/package-messages.ts";
import { filesWithOffsets, isPackageHash, packageHash, type PackageManifest, parseManifest } from "./directory-package.ts";
import { MANIFEST_BYTES_MAX, PACKAGE_PIECE_BYTES } from "./limits.ts";
import type { PackedDirectory, PackRequest } from "./pack-directory.ts";
import { type Fetched, fetchContents, type PackagePeer } from "./package-fetch.ts";
import { PackageCache } from "./package-cache.ts";
import { SetMap } from "../base/collections/set-map.ts";
import { WireError } from "../wire/wire-error.ts";
import type { Handlers } from "../wire/tables/message-table.ts";
import type { MessagesBetweenDaemons } from "../wire/tables/messages-to-daemon.ts";

/** A folder and its node. */
export interface PackagePlace extends PackRequest {
  readonly node: NodeId;
  /** For people. */
  readonly hostname: string;
  readonly job: JobId;
}

/** The connection of a question, to which the answer goes. */
export interface PackageAsker {
  readonly node: NodeId;
  reply(header: unknown, parts?: readonly Uint8Array[]): void;
  replyError(error: Error): void;
}

/** A package in this node's cache. */
export interface ObtainedPackage {
  readonly hash: string;
  readonly folder: string;
  /** Versions that the folder's node has of the packages that the folder names. */
  readonly installed: PackageOfferedHeader["installed"];
}

interface PackageExchangeOptions {
  readonly here: NodeId;
  readonly hostname: string;
  readonly cacheFolder: string;
  readonly cacheBytesMax: number;
  /** Undefined for a node that is known to be dead. */
  readonly peer: (node: NodeId) => PackagePeer | undefined;
  /** Packs in a separate process. */
  readonly pack: (request: PackRequest, cacheFolder: string) => Promise<PackedDirectory>;
  /** For a folder to be packed, and for a source to answer; shorter ones are for tests. */
  readonly timeoutsMs?: { readonly pack: number; readonly piece: number };
}

interface Offer {
  readonly packed: Promise<PackedDirectory>;
  /** Nodes that have it, the newest last. */
  readonly holders: Set<NodeId>;
}

const TIMEOUTS_MS = { pack: 300_000, piece: 10_000 };
const HOLDERS_NAMED_MAX = 8;
/** Bounds the packages remembered for ended jobs; the oldest is forgotten first. */
const OFFERS_MAX = 100;
/** Earlier packages in which a file is looked for before it is fetched. */
const EARLIER_MAX = 4;

export class PackageExchange {
  readonly #options: PackageExchangeOptions;
  readonly #timeouts: { readonly pack: number; readonly piece: number };
  readonly #cache: PackageCache;
  /** Folders described by processes of this node. No other folder is given away. */
  readonly #described = new Map<string, JobId>();
  readonly #offers = new Map<string, Offer>();
  readonly #obtained = new Map<string, { readonly job: JobId; readonly node: NodeId; readonly obtained: Promise<ObtainedPackage> }>();
  readonly #fetching = new Map<string, Promise<void>>();
  /** Packages that were damaged when they were unpacked. */
  readonly #distrusted = new Set<string>();
  /** Nodes to notify at the end of each job of this node. */
  readonly #askers = new SetMap<JobId, NodeId>();

  constructor(options: PackageExchangeOptions) {
    this.#options = options;
    this.#timeouts = options.timeoutsMs ?? TIMEOUTS_MS;
    this.#cache = new PackageCache(options.cacheBytesMax);
  }

  // ---- this node's folders

  /** A process of this node uses this folder, so other nodes may ask for it. */
  described(place: PackagePlace): void {
    if (place.node === this.#options.here) this.#described.set(keyOf(place), place.job);
  }

  /** Handlers of requests from other nodes' daemons. */
  readonly handlers: Handlers<
    Pick<MessagesBetweenDaemons, typeof MESSAGE.PACKAGE_OFFER | typeof MESSAGE.PACKAGE_READ | typeof MESSAGE.PACKAGE_HELD>,
    [asker: PackageAsker]
  > = {
    [MESSAGE.PACKAGE_OFFER]: (wanted, asker) => answer(asker, this.#offer(asker, wanted)),
    [MESSAGE.PACKAGE_READ]: (range, asker) => answer(asker, this.#serve(asker, range)),
    [MESSAGE.PACKAGE_HELD]: (held, { node }) => this.#held(node, held),
  };

  async #offer(asker: PackageAsker, { job, directory, excludes, only }: PackageOfferHeader): Promise<void> {
    const request: PackRequest = { directory, excludes, only };
    const key = keyOf({ ...request, job });
    let offer = this.#offers.get(key);
    if (offer === undefined) {
      if (this.#described.get(key) !== job) throw new WireError("notFound", "no process of that node uses this folder any more");
      offer = { packed: this.#pack(request, job), holders: new Set() };
      this.#offers.set(key, offer);
      // A failure may be mended by the time of the next request.
      offer.packed.catch(() => this.#offers.delete(key));
    }
    this.#askers.add(job, asker.node);
    const { hash, contentsBytes, manifestBytes, installed } = await offer.packed;
    const holders = Array.from(offer.holders).filter((node) => node !== asker.node);
    const offered: PackageOfferedHeader = { hash, contentsBytes, manifestBytes, holders: holders.slice(-HOLDERS_NAMED_MAX), installed };
    asker.reply(offered);
  }

  async #pack(request: PackRequest, job: JobId): Promise<PackedDirectory> {
    makeFolder(this.#options.cacheFolder);
    const packed = await this.#options.pack(request, this.#options.cacheFolder);
    this.#keep(packed.hash, packed.contentsBytes + packed.manifestBytes, job);
    return packed;
  }

  #held(node: NodeId, { job, directory, excludes, only, hash }: PackageHeldHeader): void {
    const offer = this.#offers.get(keyOf({ job, directory, excludes, only }));
    void offer?.packed.then(
      (packed) => {
        if (packed.hash === hash) offer.holders.add(node);
      },
      () => {},
    );
  }

  async #serve(asker: PackageAsker, { hash, part, offset, length }: PackageReadHeader): Promise<void> {
    const isRange = Number.isSafeInteger(offset) && offset >= 0 && Number.isSafeInteger(length) && length > 0;
    if (!isPackageHash(hash) || !isRange || length > PACKAGE_PIECE_BYTES)
      throw new WireError("malformed", "what is asked for is no part of a package");
    if (!this.#cache.has(hash)) throw new WireError("notFound", "it no longer has the package");
    const file = joinPath(this.#options.cacheFolder, hash, part === "manifest" ? MANIFEST_FILE : CONTENTS_FILE);
    asker.reply(undefined, [await readRange(file, { offset, length })]);
  }

  // ---- folders of other nodes

  /**
   * The folder of a package in this node's cache, which is fetched if it is not there.
   *
   * @throws Error that names both sides when it cannot be had
   */
  obtain(place: PackagePlace): Promise<ObtainedPackage> {
    const key = `${place.node} ${keyOf(place)}`;
    const known = this.#obtained.get(key);
    if (known !== undefined) return known.obtained;
    const obtained = this.#obtain(place).catch((error: unknown) => {
      this.#obtained.delete(key);
      const { hostname } = this.#options;
      throw new Error(
        `the folder ${place.directory} of node ${place.node.slice(0, 8)} (${place.hostname}) could not be brought to ` +
          `node ${this.#options.here.slice(0, 8)} (${hostname}): ${messageOf(error)}`,
      );
    });
    this.#obtained.set(key, { job: place.job, node: place.node, obtained });
    return obtained;
  }

  /** Fetches a package again after its contents were found damaged, without using local files. */
  async obtainAnew(place: PackagePlace): Promise<ObtainedPackage> {
    const key = `${place.node} ${keyOf(place)}`;
    const damaged = await this.#obtained.get(key)?.obtained;
    this.#obtained.delete(key);
    if (damaged !== undefined) {
      // Damage may come from files taken from an earlier package.
      this.#distrusted.add(damaged.hash);
      this.#cache.removed(damaged.hash);
      this.#removeFiles([damaged.hash]);
    }
    return this.obtain(place);
  }

  async #obtain({ node, job, directory, excludes, only }: PackagePlace): Promise<ObtainedPackage> {
    const { here, cacheFolder, peer } = this.#options;
    makeFolder(cacheFolder);
    const home = peer(node);
    if (home === undefined) throw new Error("that node is gone");
    const request = { job, directory, excludes, ...(only === undefined ? {} : { only }) };
    const reply = await home.request(MESSAGE.PACKAGE_OFFER, request satisfies PackageOfferHeader, { timeoutMs: this.#timeouts.pack });
    const { hash, manifestBytes, contentsBytes, holders, installed } = reply.header;
    if (!isPackageHash(hash) || !(manifestBytes <= MANIFEST_BYTES_MAX)) throw new Error("what it offers is no package");
    if (!this.#cache.has(hash)) {
      let fetching = this.#fetching.get(hash);
      if (fetching === undefined) {
        const sources = [...holders.filter((holder) => holder !== here), node];
        fetching = this.#fetch(reply.header, sources).finally(() => this.#fetching.delete(hash));
        this.#fetching.set(hash, fetching);
      }
      await fetching;
    }
    this.#keep(hash, manifestBytes + contentsBytes, job);
    home.send(MESSAGE.PACKAGE_HELD, { ...request, hash } satisfies PackageHeldHeader);
    return { hash, folder: joinPath(cacheFolder, hash), installed };
  }

  async #fetch({ hash, manifestBytes }: PackageOfferedHeader, sources: readonly NodeId[]): Promise<void> {
    const { cacheFolder, peer } = this.#options;
    const fetched: Fetched = { hash, sources: sources.map((node) => ({ node, peer: peer(node) })), timeoutMs: this.#timeouts.piece };
    const manifestText = await fetchContents(fetched, "manifest", [{ offset: 0, length: manifestBytes }]);
    if (packageHash(manifestText) !== hash) throw new Error("its manifest is not the one that was offered");
    const manifest = parseManifest(manifestText);
    const writer = await PackageWriter.create(joinPath(cacheFolder, hash), manifestText);
    try {
      const missing = await this.#takeFromEarlier(manifest, writer, !this.#distrusted.has(hash));
      await fetchContents(fetched, "contents", missing, (bytes, offset) => writer.write(bytes, offset));
      await writer.finish();
    } catch (error) {
      await writer.drop();
      throw error;
    }
  }

  /** Writes parts that earlier packages have; returns the places of the rest. */
  async #takeFromEarlier(
    manifest: PackageManifest,
    writer: PackageWriter,
    isTrusted: boolean,
  ): Promise<{ offset: number; length: number }[]> {
    const { cacheFolder } = this.#options;
    const earlier = new Map<string, { hash: string; offset: number }>();
    for (const hash of isTrusted ? this.#cache.hashes.slice(0, EARLIER_MAX) : []) {
      const known = parseManifest(await readWhole(joinPath(cacheFolder, hash, MANIFEST_FILE)));
      for (const { sha256, offset } of filesWithOffsets(known)) earlier.set(sha256, { hash, offset });
    }
    const missing: { offset: number; length: number }[] = [];
    for (const { sha256, offset, sizeBytes } of filesWithOffsets(manifest)) {
      const from = earlier.get(sha256);
      const last = missing.at(-1);
      if (from !== undefined) await this.#copy(from, writer, { offset, length: sizeBytes });
      else if (last !== undefined && last.offset + last.length === offset) last.length += sizeBytes;
      else if (sizeBytes > 0) missing.push({ offset, length: sizeBytes });
    }
    return missing;
  }

  async #copy(
    from: { hash: string; offset: number },
    writer: PackageWriter,
    { offset, length }: { offset: number; length: number },
  ): Promise<void> {
    const file = joinPath(this.#options.cacheFolder, from.hash, CONTENTS_FILE);
    for (let at = 0; at < length; at += PACKAGE_PIECE_BYTES) {
      const piece = await readRange(file, { offset: from.offset + at, length: Math.min(PACKAGE_PIECE_BYTES, length - at) });
      await writer.write(piece, offset + at);
    }
  }

  // ---- ends

  /** Handles the end of a driver of this node. Returns the nodes that have folders of the driver's job. */
  jobEnded(job: JobId): NodeId[] {
    const askers = Array.from(this.#askers.take(job));
    for (const [key, owner] of this.#described) if (owner === job) this.#described.delete(key);
    // A detached actor of the job may start on another node later, so its packages stay available while there is room.
    for (const key of Array.from(this.#offers.keys()).slice(0, -OFFERS_MAX)) if (!this.#described.has(key)) this.#offers.delete(key);
    this.forget(job);
    return askers;
  }

  /** No new worker of the job will be started here. */
  forget(job: JobId): void {
    for (const [key, obtained] of this.#obtained) if (obtained.job === job) this.#obtained.delete(key);
    this.#cache.jobEnded(job);
    this.#removeFiles(this.#cache.evict());
  }

  /** Drops a dead node as a source and as a receiver. */
  nodeGone(node: NodeId): void {
    for (const { holders } of this.#offers.values()) holders.delete(node);
    for (const job of this.#askers.keys()) this.#askers.delete(job, node);
  }

  #keep(hash: string, bytes: number, job: JobId): void {
    this.#cache.used(hash, { bytes, job });
    this.#removeFiles(this.#cache.evict());
  }

  #removeFiles(hashes: readonly string[]): void {
    for (const hash of hashes) removeTree(joinPath(this.#options.cacheFolder, hash));
  }
}

/** Sends failures to the asker, too. */
function answer(asker: PackageAsker, answering: Promise<void>): void {
  answering.catch((error: unknown) => asker.replyError(asError(error)));
}

function keyOf({ job, directory, excludes, only }: PackRequest & { job: JobId }): string {
  return JSON.stringify([job, directory, excludes, only ?? null]);
}
