/**
 * The notices of three clouds, in the formats of their public documents.
 *
 * - AWS: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html, with tokens of IMDSv2 alone.
 * - Google Cloud: https://cloud.google.com/compute/docs/instances/create-use-spot (`instance/preempted`).
 * - Azure: https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events, version 2020-07-01.
 *
 * Each class asks one metadata server and keeps its token, or the name of the machine, between questions.
 */
import { AWS_TOKEN_RENEWAL_MS, AWS_TOKEN_SECONDS, GCP_NOTICE_MS, NOTICE_LOOKS_EVERY_MS, SHORT_NOTICE_LOOKS_EVERY_MS } from "./limits.ts";
import { ask } from "./notice-request.ts";
import { leftUntil, type NoticeSource, type PreemptionNotice, readObject, unreadable } from "./notice.ts";

const AWS_ACTIONS: readonly unknown[] = ["terminate", "stop", "hibernate"];
/** A frozen machine goes on after seconds, so `Freeze` is left out. */
const AZURE_EVENTS: readonly unknown[] = ["Preempt", "Terminate", "Reboot", "Redeploy"];
const GCP_ANSWERS: ReadonlyMap<string, boolean> = new Map([
  ["FALSE", false],
  ["TRUE", true],
]);
const HEADER_VALUE = /^[\x21-\x7e]{1,4096}$/;

export class AwsNotices implements NoticeSource {
  readonly everyMs = NOTICE_LOOKS_EVERY_MS;
  readonly what = "the metadata server of AWS";
  readonly #base: string;
  #token: { readonly text: string; readonly madeMs: number } | undefined;

  constructor(base: string) {
    this.#base = base;
  }

  async look(signal: AbortSignal): Promise<PreemptionNotice | undefined> {
    let answer = await this.#ask(signal);
    if (answer.status === 401) {
      // The token is over, or the server began anew.
      this.#token = undefined;
      answer = await this.#ask(signal);
    }
    const { status, text, nowMs } = answer;
    if (status === 404) return undefined;
    if (status !== 200) throw unreadable(this.what, `status ${status}`);
    const { action, time } = readObject(text, this.what);
    if (!AWS_ACTIONS.includes(action) || typeof time !== "string") throw unreadable(this.what, text);
    return { leftMs: leftUntil(time, { what: this.what, nowMs }), what: `AWS: ${String(action)} at ${time}` };
  }

  async #ask(signal: AbortSignal): ReturnType<typeof ask> {
    const headers = { "X-aws-ec2-metadata-token": await this.#ownToken(signal) };
    return await ask(`${this.#base}/latest/meta-data/spot/instance-action`, { headers, signal });
  }

  async #ownToken(signal: AbortSignal): Promise<string> {
    if (this.#token !== undefined && performance.now() - this.#token.madeMs < AWS_TOKEN_RENEWAL_MS) return this.#token.text;
    const headers = { "X-aws-ec2-metadata-token-ttl-seconds": String(AWS_TOKEN_SECONDS) };
    const { status, text } = await ask(`${this.#base}/latest/api/token`, { method: "PUT", headers, signal });
    if (status !== 200) throw unreadable(this.what, `status ${status} for a token`);
    if (!HEADER_VALUE.test(text)) throw unreadable(this.what, "a token that is no header value");
    this.#token = { text, madeMs: performance.now() };
    return text;
  }
}

export class GcpNotices implements NoticeSource {
  readonly everyMs = SHORT_NOTICE_LOOKS_EVERY_MS;
  readonly what = "the metadata server of Google Cloud";
  readonly #base: string;

  constructor(base: string) {
    this.#base = base;
  }

  async look(signal: AbortSignal): Promise<PreemptionNotice | undefined> {
    const url = `${this.#base}/computeMetadata/v1/instance/preempted`;
    const { status, text, headers } = await ask(url, { headers: { "Metadata-Flavor": "Google" }, signal });
    if (status !== 200) throw unreadable(this.what, `status ${status}`);
    // The document tells clients to look for it: another server under the name would lack it.
    if (headers.get("metadata-flavor") !== "Google") throw unreadable(this.what, "an answer without Metadata-Flavor: Google");
    const isPreempted = GCP_ANSWERS.get(text.trim());
    if (isPreempted === undefined) throw unreadable(this.what, text);
    return isPreempted ? { leftMs: GCP_NOTICE_MS, what: "Google Cloud: preempted" } : undefined;
  }
}

export class AzureNotices implements NoticeSource {
  readonly everyMs = SHORT_NOTICE_LOOKS_EVERY_MS;
  readonly what = "the metadata server of Azure";
  readonly #base: string;
  /** Events name machines, also others of a scale set. */
  #ownName: string | undefined;

  constructor(base: string) {
    this.#base = base;
  }

  async look(signal: AbortSignal): Promise<PreemptionNotice | undefined> {
    const headers = { Metadata: "true" };
    this.#ownName ??= await this.#askName(signal);
    const { status, text, nowMs } = await ask(`${this.#base}/metadata/scheduledevents?api-version=2020-07-01`, { headers, signal });
    if (status !== 200) throw unreadable(this.what, `status ${status}`);
    const { Events: events } = readObject(text, this.what);
    if (!Array.isArray(events)) throw unreadable(this.what, text);
    const own = events.flatMap((event: unknown) => this.#noticeOf(event, { text, nowMs }) ?? []);
    return own.sort((a, b) => (a.leftMs ?? 0) - (b.leftMs ?? 0))[0];
  }

  async #askName(signal: AbortSignal): Promise<string> {
    const url = `${this.#base}/metadata/instance/compute/name?api-version=2021-02-01&format=text`;
    const { status, text } = await ask(url, { headers: { Metadata: "true" }, signal });
    if (status !== 200 || text.trim() === "") throw unreadable(this.what, `status ${status} for the machine's name`);
    return text.trim();
  }

  #noticeOf(event: unknown, { text, nowMs }: { text: string; nowMs: number }): PreemptionNotice | undefined {
    const given = (typeof event === "object" ? event : undefined) as Readonly<Record<string, unknown>> | null | undefined;
    if (given === undefined || given === null || !Array.isArray(given["Resources"])) throw unreadable(this.what, text);
    const { EventType: type, EventStatus: state, NotBefore: time } = given;
    if (!AZURE_EVENTS.includes(type) || !given["Resources"].includes(this.#ownName)) return undefined;
    const what = `Azure: ${String(type)}`;
    if (state === "Started") return { leftMs: 0, what };
    if (state !== "Scheduled") return undefined;
    if (typeof time !== "string") throw unreadable(this.what, text);
    return { leftMs: leftUntil(time, { what: this.what, nowMs }), what: `${what} not before ${time}` };
  }
}
