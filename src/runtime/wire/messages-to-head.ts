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
  /** A function or class. The daemon's holds of what it captured come before it. Body: the definition. */
  [MESSAGE.DEFINE]: DefinitionHeader;
  /** Asks for a definition by its id; answered once it is known, with the definition in the body. The process that asks registers its own holds of what the answer refers to. */
  [MESSAGE.FETCH_DEFINITION]: string;
  /** What the environment key of later shapes means. Only in a cluster does the daemon pass it on to the head. */
  [MESSAGE.ENVIRONMENT]: EnvironmentHeader;
  /** From a daemon: what this key means; answered with the description that ENVIRONMENT gave, once it is known. */
  [MESSAGE.ENVIRONMENT_FETCH]: string;
  /** Creates an actor; answered with the one that has the name, which with `getIfExists` may be another. Body: the payloads. */
  [MESSAGE.ACTOR_CREATE]: ActorCreateHeader;
  /** Asks for the actor of that name. */
  [MESSAGE.ACTOR_LOOKUP]: NamedHeader;
  /** Asks for the actor's state, now and after each change (ACTOR_STATE). */
  [MESSAGE.ACTOR_WATCH]: ActorId;
  /** Ends the actor; with `restart` it may be restarted. */
  [MESSAGE.ACTOR_KILL]: { actorId: ActorId; restart: boolean };
  /** Asks for all actors, or those of one namespace. */
  [MESSAGE.ACTOR_LIST]: { includeDead: boolean; namespace: string | undefined };
  /** From the actor's process: the constructor has returned. */
  [MESSAGE.ACTOR_STARTED]: { actorId: ActorId; incarnation: number };
  /** From the actor's process: the constructor has thrown. Body: the error. */
  [MESSAGE.ACTOR_START_FAILED]: { actorId: ActorId; incarnation: number; error: PayloadHeader };
  /** Waits of tasks and actors that have lasted for a second, and the numbers of those that have ended. `for`: the calls whose results are waited for. */
  [MESSAGE.WAITS]: WaitsHeader;
  /** Asks for all nodes. */
  [MESSAGE.NODES]: undefined;
  /** The same question as a process asks its daemon, which adds the state of its store. */
  [MESSAGE.RESOURCES]: { store: unknown };
  /** Asks for the nodes, what each has and what of it is free, the nodes that have gone, and what waits for room. */
  [MESSAGE.CLUSTER_STATUS]: undefined;
  /** Makes, revokes or lists join tokens. */
  [MESSAGE.JOIN_TOKENS]: JoinTokensHeader;
  /**
   * A node, named by the first digits of its id, is to leave. Answered with the whole id when it takes nothing new; the node goes when it has ended what it has, and says so by
   * the event `left`.
   */
  [MESSAGE.NODE_DRAIN]: NodeDrainHeader;
  /** On which nodes such a demand, or an actor, could be placed, and what of its needs is free there; answered with nothing for an actor that is not known. */
  [MESSAGE.WHY_PLACE]: { shape: string | undefined; actor: ActorId | undefined };
  /** Asks for all placement groups. */
  [MESSAGE.GROUPS]: undefined;
  /** Creates a placement group. */
  [MESSAGE.GROUP_CREATE]: GroupCreateHeader;
  /** Removes the placement group of that id; answered once its tasks and actors have been ended. */
  [MESSAGE.GROUP_REMOVE]: string;
  /** Asks for the state of the placement group of that id; answered once it is no longer pending. */
  [MESSAGE.GROUP_WATCH]: string;
  /** Asks for the placement group of that name; answered with nothing where there is none. */
  [MESSAGE.GROUP_LOOKUP]: NamedHeader;
  /**
   * Keeps a value by name. Answered with whether it was put: without `overwrite` a value that is there stays. A question that is asked again of another head is answered as
   * before. Body: the value.
   */
  [MESSAGE.KV_PUT]: KeyValuePutHeader;
  /** Answered with the form of the value, and with `withValue` with the value in the body; with nothing where there is no value. */
  [MESSAGE.KV_GET]: KeyValueGetHeader;
  /** Answered with whether there was a value. */
  [MESSAGE.KV_DELETE]: KeyValueNameHeader;
  /** Answered with the keys that begin with the prefix, sorted. */
  [MESSAGE.KV_LIST]: KeyValueListHeader;
  /** A message of an extension of the head, which has a shape for the header and for the answer, if it is a request. A node's daemon may send one, too. */
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
export const anyActor: shape.Shape<ActorId> = shape.textOf("actor id");
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
