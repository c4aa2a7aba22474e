/**
 * Asks the head for the autoscaler and for commands: the extension's table, the demand, drains, join tokens.
 *
 * Every question has a time limit. A refusal of a step becomes `FencedOutError`; a node that is gone counts as drained. Answers of the
 * extension are checked by their shapes.
 */
import { problemOf, type Shape } from "../../runtime/wire/header-shape.ts";
import { either, fields, list, optional, record, number, text, nothing } from "../../runtime/wire/header-shape.ts";
import type { AnsweredOf, AskedOf } from "../../runtime/extension/extension.ts";
import { RESOURCE_REQUEST } from "../../runtime/wire/cluster/key-value-messages.ts";
import { MESSAGE } from "../../runtime/wire/messages.ts";
import { WireError } from "../../runtime/wire/wire-error.ts";
import type { ClusterConnection } from "../connection/cluster-connection.ts";
import { AUTOSCALER_EXTENSION, autoscalerMessages } from "./autoscaler-messages.ts";
import type { Instance } from "./instances/instance.ts";
import { JOIN_TOKEN_AGE_MS, RECORDS_PER_MESSAGE_MAX } from "./limits.ts";
import { FencedOutError, type HeadPort } from "./loop/ports.ts";
import type { RequestedBundle } from "./plan/snapshot.ts";

type Messages = typeof autoscalerMessages;
type Link = Pick<ClusterConnection, "ask" | "request">;

const ASKS_WITHIN = { timeoutMs: 10_000 };
const requestShape = either(list(fields({ resources: record(number), labels: optional(record(text)) })), nothing);

/** Asks the extension of the head. @throws ShoalError where it refuses, or the head has none */
export async function askAutoscaler<N extends keyof Messages>(
  link: Link,
  message: N,
  header: AskedOf<Messages[N]>,
): Promise<AnsweredOf<Messages[N]>> {
  const answer: unknown = await link.ask(MESSAGE.EXTENSION, { extension: AUTOSCALER_EXTENSION, message, header }, ASKS_WITHIN);
  const shape: Shape = autoscalerMessages[message].answers;
  if (!shape(answer)) throw new TypeError(`Cannot ask ${message} of the autoscaler: ${problemOf(shape, answer, "the answer")}`);
  return answer as AnsweredOf<Messages[N]>;
}

/** Whether the head refused with that code. */
function isRefusal(error: unknown, code: WireError["code"]): boolean {
  const { cause } = error as { cause?: unknown };
  return cause instanceof WireError && cause.code === code;
}

/** @param token - with which nodes of this machine join where the head makes no tokens */
export function headPort(link: Link, { token }: { token: string }): HeadPort {
  return {
    acquire: (owner) => askAutoscaler(link, "acquire", { owner }),
    commit: (fence, steps) => commit(link, fence, steps),
    instances: () => allInstances(link),
    ensureConfig: async (given) => {
      await askAutoscaler(link, "configure", { text: given, ifNone: true });
    },
    configText: async () => (await askAutoscaler(link, "config", {})).text,
    demand: async () => {
      const { nodes, waiting, groups, isComplete } = await link.ask(MESSAGE.CLUSTER_DEMAND, undefined, ASKS_WITHIN);
      return { nodes, waiting, groups, isComplete };
    },
    requested: () => requested(link),
    drain: (nodeId) => drain(link, nodeId),
    tell: async (verdicts) => {
      await link.ask(MESSAGE.DEMAND_VERDICTS, verdicts, ASKS_WITHIN);
    },
    report: async (report) => {
      await askAutoscaler(link, "report", report);
    },
    joinToken: () => joinToken(link, token),
  };
}

async function commit(link: Link, fence: number, steps: readonly Instance[]): Promise<number> {
  let version = 0;
  let at = 0;
  try {
    do {
      version = await askAutoscaler(link, "commit", { fence, steps: steps.slice(at, at + RECORDS_PER_MESSAGE_MAX) });
      at += RECORDS_PER_MESSAGE_MAX;
    } while (at < steps.length);
    return version;
  } catch (error) {
    if (isRefusal(error, "extension")) throw new FencedOutError((error as Error).message, { cause: error });
    throw error;
  }
}

async function allInstances(link: Link): Promise<Instance[]> {
  const found: Instance[] = [];
  for (;;) {
    const page = await askAutoscaler(link, "page", { after: found.at(-1)?.id ?? "", limit: RECORDS_PER_MESSAGE_MAX });
    found.push(...page);
    if (page.length < RECORDS_PER_MESSAGE_MAX) return found;
  }
}

async function requested(link: Link): Promise<readonly RequestedBundle[]> {
  const { header: form, body } = await link.request(MESSAGE.KV_GET, { ...RESOURCE_REQUEST, withValue: true }, ASKS_WITHIN);
  if (form !== "json") return [];
  const bundles: unknown = JSON.parse(new TextDecoder().decode(body));
  return requestShape(bundles) ? (bundles ?? []) : [];
}

async function drain(link: Link, nodeId: string): Promise<string | undefined> {
  try {
    await link.ask(MESSAGE.NODE_DRAIN, { node: nodeId, deadlineMs: undefined, reason: "idle" }, ASKS_WITHIN);
    return undefined;
  } catch (error) {
    if (isRefusal(error, "notFound")) return undefined;
    if (isRefusal(error, "failed")) return (error as Error).message;
    throw error;
  }
}

async function joinToken(link: Link, token: string): Promise<string> {
  if (token !== "") return token;
  const made = await link.ask(MESSAGE.JOIN_TOKENS, { do: "new", ageMaxMs: JOIN_TOKEN_AGE_MS }, ASKS_WITHIN);
  if (made.kind !== "new") throw new TypeError("Cannot make a join token: the head answered another question");
  return made.joinToken;
}
