/**
 * Sources of preemption notices: a cloud's metadata server, a URL of one's own, or a file.
 *
 * A source answers whether this machine goes away, and when. An answer that it cannot read is an error, never a notice: a node must not
 * leave because a proxy answered with a page. Redirects are not followed. Times are counted from the server's own clock where its answer has one.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { messageOf } from "../../../runtime/base/texts/describe.ts";
import { ShoalError } from "../../../runtime/base/errors.ts";
import { AwsNotices, AzureNotices, GcpNotices } from "./cloud-notices.ts";
import { NOTICE_BYTES_MAX, NOTICE_LOOKS_EVERY_MS, SHORT_NOTICE_LOOKS_EVERY_MS } from "./limits.ts";
import { ask } from "./notice-request.ts";
import { leftUntil, type NoticeSource, type PreemptionNotice, readObject, unreadable } from "./notice.ts";

/** Presets and the addresses of their metadata servers, which only the machine itself reaches. */
const PRESETS: Readonly<Record<string, { base: string; make: (base: string) => NoticeSource }>> = {
  aws: { base: "http://169.254.169.254", make: (base) => new AwsNotices(base) },
  gcp: { base: "http://metadata.google.internal", make: (base) => new GcpNotices(base) },
  azure: { base: "http://169.254.169.254", make: (base) => new AzureNotices(base) },
};

/**
 * Makes the source of `--preemption-notice`: `aws`, `gcp`, `azure`, one of them with another address (`aws:http://[fd00:ec2::254]`), a URL, or
 * `file:PATH`.
 *
 * @throws RangeError for anything else
 */
export function noticeSource(text: string): NoticeSource {
  const [, name = text, base] = /^([a-z]+):(https?:.*)$/.exec(text) ?? [];
  const preset = Object.hasOwn(PRESETS, name) ? PRESETS[name] : undefined;
  if (preset !== undefined) return preset.make(base === undefined ? preset.base : urlOf(base, text).origin);
  const [, path] = /^file:(.+)$/s.exec(text) ?? [];
  if (path !== undefined) return new FileNotices(path);
  return new UrlNotices(urlOf(text, text).href);
}

function urlOf(text: string, whole: string): URL {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "") return url;
  throw new RangeError(`takes aws, gcp, azure, an http or https URL without a password, or file:PATH: received ${whole}`);
}

/** A URL of one's own: 404 or 204 until the notice, then 200 with the notice. */
class UrlNotices implements NoticeSource {
  readonly everyMs = NOTICE_LOOKS_EVERY_MS;
  readonly what: string;

  constructor(url: string) {
    this.what = url;
  }

  async look(signal: AbortSignal): Promise<PreemptionNotice | undefined> {
    const { status, text, nowMs } = await ask(this.what, { signal });
    if (status === 404 || status === 204) return undefined;
    if (status !== 200) throw unreadable(this.what, `status ${status}`);
    return ownNotice(text, { what: this.what, nowMs });
  }
}

/** A file: absent until the notice. */
class FileNotices implements NoticeSource {
  readonly everyMs = SHORT_NOTICE_LOOKS_EVERY_MS;
  readonly what: string;
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
    this.what = `the file ${path}`;
  }

  async look(): Promise<PreemptionNotice | undefined> {
    let text: string;
    try {
      text = readNotice(this.#path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      const reason = messageOf(error);
      throw new ShoalError(`Cannot read ${this.what}: ${reason}.`, { reason, cause: error });
    }
    return ownNotice(text, { what: this.what, nowMs: Date.now() });
  }
}

/** A pipe under the name would keep an ordinary read waiting. */
function readNotice(path: string): string {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = fstatSync(descriptor);
    if (!found.isFile()) throw new TypeError("it is no file");
    if (found.size > NOTICE_BYTES_MAX) throw new RangeError(`it has more than ${NOTICE_BYTES_MAX} bytes`);
    return readFileSync(descriptor, "utf8");
  } finally {
    closeSync(descriptor);
  }
}

/** Empty text is a notice without a deadline; else an object with `time`, or with `left_ms`. */
function ownNotice(text: string, { what, nowMs }: { what: string; nowMs: number }): PreemptionNotice {
  if (text.trim() === "") return { leftMs: undefined, what };
  const { time, left_ms: leftMs, ...others } = readObject(text, what);
  if (Object.keys(others).length > 0) throw unreadable(what, text);
  if (time !== undefined && leftMs !== undefined) throw unreadable(what, text);
  if (typeof time === "string") return { leftMs: leftUntil(time, { what, nowMs }), what };
  if (typeof leftMs === "number" && Number.isFinite(leftMs) && leftMs >= 0) return { leftMs, what };
  if (time === undefined && leftMs === undefined) return { leftMs: undefined, what };
  throw unreadable(what, text);
}
