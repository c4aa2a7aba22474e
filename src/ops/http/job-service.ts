/**
 * Jobs as the HTTP server has them: it asks the head's extension, and turns refusals into answers.
 *
 * A job's id and start key are made here, so a question that is asked again of the next head submits one job. The
 * node is that of this machine, where uploaded packages are.
 */
import { randomBytes, randomInt } from "node:crypto";
import type { NodeId } from "../../runtime/base/ids.ts";
import { ShoalError } from "../../runtime/base/errors.ts";
import type { AnsweredOf, AskedOf } from "../../runtime/extension/extension.ts";
import { problemOf, type Shape } from "../../runtime/wire/header-shape.ts";
import { NODE_ID_LABEL } from "../../runtime/scheduling/label-selector.ts";
import { MESSAGE } from "../../runtime/wire/messages.ts";
import { WireError } from "../../runtime/wire/wire-error.ts";
import type { ClusterLink } from "../connection/cluster-link.ts";
import { headMessages, type JobRecord, JOBS } from "../jobs/job-messages.ts";
import type { Submission } from "../jobs/job-request.ts";
import { HttpError } from "./http-answers.ts";
import { CLUSTER_ANSWERS_WITHIN_MS } from "./limits.ts";

type HeadMessages = typeof headMessages;

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const STATUS_OF: Readonly<Record<string, number>> = { JobTaken: 409, JobUnknown: 404, JobNotEnded: 400, TooManyJobs: 503 };

export class JobService {
  readonly #link: Pick<ClusterLink, "ask" | "node">;
  readonly #headAddress: string;

  constructor(link: Pick<ClusterLink, "ask" | "node">, headAddress: string) {
    this.#link = link;
    this.#headAddress = headAddress;
  }

  /** Resolves with the id once the job is kept. @throws HttpError 409 for a taken id */
  async submit(submission: Submission, packageFolder: string | undefined): Promise<string> {
    const { id = newSubmissionId(), entrypoint, metadata, envVars, workingDirectory, reservation } = submission;
    const node = await this.#link.node();
    const request = {
      entrypoint,
      metadata,
      envVars,
      address: this.#headAddress,
      ...(workingDirectory === undefined ? {} : { workingDirectory }),
      ...(packageFolder === undefined ? {} : { packageFolder }),
      ...(reservation === undefined ? {} : { reservation: packageFolder === undefined ? reservation : onNode(reservation, node) }),
    };
    await this.#ask("submit", { id, key: randomBytes(16).toString("hex"), node, request });
    return id;
  }

  async get(id: string): Promise<JobRecord | undefined> {
    return await this.#ask("get", { id });
  }

  /** The newest first. */
  async list(): Promise<JobRecord[]> {
    const rows: JobRecord[] = [];
    let after: string | undefined;
    do {
      const page = await this.#ask("list", after === undefined ? {} : { after });
      rows.push(...page.rows);
      after = page.next;
    } while (after !== undefined);
    return rows;
  }

  /** Resolves with whether it had not ended. */
  async stop(id: string): Promise<boolean> {
    return (await this.#ask("stop", { id })).stopped;
  }

  async remove(id: string): Promise<void> {
    await this.#ask("remove", { id });
  }

  async #ask<N extends keyof HeadMessages>(message: N, header: AskedOf<HeadMessages[N]>): Promise<AnsweredOf<HeadMessages[N]>> {
    const asked = { extension: JOBS, message, header };
    const answer: unknown = await this.#link
      .ask(MESSAGE.EXTENSION, asked, { timeoutMs: CLUSTER_ANSWERS_WITHIN_MS })
      .catch((error: unknown) => {
        throw httpErrorOf(error);
      });
    const shape: Shape = headMessages[message].answers;
    if (!shape(answer)) throw new TypeError(`the head's answer about jobs is malformed: ${problemOf(shape, answer, "the answer")}`);
    return answer as AnsweredOf<HeadMessages[N]>;
  }
}

/** Packages are on this machine alone, so a job with a working directory runs here. */
function onNode({ resources, labels }: NonNullable<Submission["reservation"]>, node: NodeId): NonNullable<Submission["reservation"]> {
  return { resources, labels: { ...labels, [NODE_ID_LABEL]: node } };
}

function newSubmissionId(): string {
  return `shoal_${Array.from({ length: 16 }, () => LETTERS[randomInt(LETTERS.length)]).join("")}`;
}

function httpErrorOf(error: unknown): unknown {
  const cause = error instanceof ShoalError ? error.cause : error;
  if (!(cause instanceof WireError) || cause.code !== "extension") return error;
  const status = STATUS_OF[String(cause.details["name"])];
  return status === undefined ? error : new HttpError(status, `Cannot do that: ${cause.message}`);
}
