/**
 * What processes ask of the head and tell it: the header of each message, and its shape.
 *
 * Two borders check them: the daemon of the process, before it passes a message on, and the head, which ends the link of a node that sends anything else. Both use this
 * table, so no program can have its node's link ended.
 */
import type { ActorId } from "../base/ids.ts";
import type { JoinTokensHeader, NodeDrainHeader } from "./cluster-messages.ts";
import type { DefinitionHeader } from "./definition-messages.ts";
import { type ExtensionHeader, extensionHeader } from "./extension-messages.ts";
import { actorOptions, definition, environment, group, payload } from "./header-parts.ts";
import * as shape from "./header-shape.ts";
import type { KeyValueGetHeader, KeyValueListHeader, KeyValueNameHeader, KeyValuePutHeader } from "./key-value-messages.ts";
import type { Shapes } from "./message-table.ts";
import {
  type ActorCreateHeader,
  type EnvironmentHeader,
  type GroupCreateHeader,
  type LongWaitHeader,
  MESSAGE,
  type PayloadHeader,
  type WaitsHeader,
} from "./messages.ts";

const { actorId, count, either, environmentKey, exactly, fields, flag, leaseSpec, list, nothing, number, optional, text, unchecked } =
  shape;

/** A name within a namespace. */
interface NamedHeader {
  name: string;
  namespace: string;
}

export interface MessagesToHead {
  [MESSAGE.DEFINE]: DefinitionHeader;
  [MESSAGE.FETCH_DEFINITION]: string;
  [MESSAGE.ENVIRONMENT]: EnvironmentHeader;
  [MESSAGE.ENVIRONMENT_FETCH]: string;
  [MESSAGE.ACTOR_CREATE]: ActorCreateHeader;
  [MESSAGE.ACTOR_LOOKUP]: NamedHeader;
  [MESSAGE.ACTOR_WATCH]: ActorId;
  [MESSAGE.ACTOR_KILL]: { actorId: ActorId; restart: boolean };
  [MESSAGE.ACTOR_LIST]: { includeDead: boolean; namespace: string | undefined };
  [MESSAGE.ACTOR_STARTED]: { actorId: ActorId; incarnation: number };
  [MESSAGE.ACTOR_START_FAILED]: { actorId: ActorId; incarnation: number; error: PayloadHeader };
  [MESSAGE.WAITS]: WaitsHeader;
  [MESSAGE.NODES]: undefined;
  /** The daemon puts its store's state in. */
  [MESSAGE.RESOURCES]: { store: unknown };
  [MESSAGE.CLUSTER_STATUS]: undefined;
  [MESSAGE.JOIN_TOKENS]: JoinTokensHeader;
  [MESSAGE.NODE_DRAIN]: NodeDrainHeader;
  [MESSAGE.WHY_PLACE]: { shape: string | undefined; actor: ActorId | undefined };
  [MESSAGE.GROUPS]: undefined;
  [MESSAGE.GROUP_CREATE]: GroupCreateHeader;
  [MESSAGE.GROUP_REMOVE]: string;
  [MESSAGE.GROUP_WATCH]: string;
  [MESSAGE.GROUP_LOOKUP]: NamedHeader;
  [MESSAGE.KV_PUT]: KeyValuePutHeader;
  [MESSAGE.KV_GET]: KeyValueGetHeader;
  [MESSAGE.KV_DELETE]: KeyValueNameHeader;
  [MESSAGE.KV_LIST]: KeyValueListHeader;
  [MESSAGE.EXTENSION]: ExtensionHeader;
}

/** What is asked of the head of a cluster as the one that knows all nodes; the head of one machine is not asked. */
export type MessagesToCluster = Pick<
  MessagesToHead,
  | typeof MESSAGE.NODES
  | typeof MESSAGE.RESOURCES
  | typeof MESSAGE.NODE_DRAIN
  | typeof MESSAGE.CLUSTER_STATUS
  | typeof MESSAGE.WHY_PLACE
  | typeof MESSAGE.JOIN_TOKENS
>;

/** Ids of actors that are looked for may be anything that somebody was given. */
export const anyActor: shape.Shape<ActorId> = shape.leaf("a string", (value) => typeof value === "string");
const named = fields<NamedHeader>({ name: text, namespace: text });
const longWait = fields<LongWaitHeader>({
  number,
  task: text,
  name: text,
  actor: optional(anyActor),
  for: list(fields({ task: text, name: text, actor: optional(anyActor) })),
});

export const MESSAGES_TO_HEAD: Shapes<MessagesToHead> = {
  [MESSAGE.DEFINE]: definition,
  [MESSAGE.FETCH_DEFINITION]: text,
  [MESSAGE.ENVIRONMENT]: environment,
  [MESSAGE.ENVIRONMENT_FETCH]: environmentKey,
  [MESSAGE.ACTOR_CREATE]: fields<ActorCreateHeader>({
    actorId,
    definition: text,
    args: payload,
    deps: list(payload),
    options: actorOptions,
  }),
  [MESSAGE.ACTOR_LOOKUP]: named,
  [MESSAGE.ACTOR_WATCH]: anyActor,
  [MESSAGE.ACTOR_KILL]: fields({ actorId: anyActor, restart: flag }),
  [MESSAGE.ACTOR_LIST]: fields({ includeDead: flag, namespace: optional(text) }),
  [MESSAGE.ACTOR_STARTED]: fields({ actorId: anyActor, incarnation: count }),
  [MESSAGE.ACTOR_START_FAILED]: fields({ actorId: anyActor, incarnation: count, error: payload }),
  [MESSAGE.WAITS]: fields<WaitsHeader>({ began: list(longWait), ended: list(number) }),
  [MESSAGE.NODES]: nothing,
  [MESSAGE.RESOURCES]: fields({ store: unchecked<unknown>() }),
  [MESSAGE.CLUSTER_STATUS]: nothing,
  [MESSAGE.JOIN_TOKENS]: either(
    fields({ do: exactly("new"), ageMaxMs: optional(number) }),
    fields({ do: exactly("revoke"), id: text }),
    fields({ do: exactly("list") }),
  ),
  [MESSAGE.NODE_DRAIN]: fields<NodeDrainHeader>({ node: text, deadlineMs: optional(number) }),
  [MESSAGE.WHY_PLACE]: fields({ shape: optional(leaseSpec), actor: optional(anyActor) }),
  [MESSAGE.GROUPS]: nothing,
  [MESSAGE.GROUP_CREATE]: group,
  [MESSAGE.GROUP_REMOVE]: text,
  [MESSAGE.GROUP_WATCH]: text,
  [MESSAGE.GROUP_LOOKUP]: named,
  [MESSAGE.KV_PUT]: fields<KeyValuePutHeader>({ namespace: text, key: text, form: exactly("bytes", "json"), overwrite: flag }),
  [MESSAGE.KV_GET]: fields<KeyValueGetHeader>({ namespace: text, key: text, withValue: flag }),
  [MESSAGE.KV_DELETE]: fields<KeyValueNameHeader>({ namespace: text, key: text }),
  [MESSAGE.KV_LIST]: fields<KeyValueListHeader>({ namespace: text, prefix: text }),
  [MESSAGE.EXTENSION]: extensionHeader,
};
