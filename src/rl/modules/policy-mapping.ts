/**
 * The policies of several agents: their ids, spaces and networks, and which agent acts by which.
 *
 * The algorithm resolves the table once, before any process starts; runners map the agents of each episode when they come.
 * An agent keeps its policy until the episode is over.
 */
import { describeValue, nearNames } from "../../core/internal.ts";
import { Random } from "../../tensor/index.ts";
import type { MultiAgentEnv } from "../environments/multi-agent/multi-agent-env.ts";
import { RLError } from "../errors.ts";
import type { Space, SpaceJson } from "../spaces/space.ts";
import { spaceFromJson } from "../spaces/space-json.ts";
import type { ModelConfig } from "./model-config.ts";
import type { ModuleSpec } from "./module-spec.ts";
import type { ModuleClass } from "./rl-module.ts";

/** The id of the module where there is one policy. */
export const DEFAULT_MODULE_ID = "default_policy";

/** The episode for which an agent is mapped. */
export interface MappedEpisode {
  /** The place of the environment among all of the algorithm, and the number of the episode there. */
  readonly id: string;
  /** Draws a number from 0 to below 1. Repeats with the seed, unlike `Math.random`. */
  random(): number;
}

/** Says by which policy an agent acts. It travels to runners as a closure. */
export type PolicyMappingFn = (agentId: string, episode: MappedEpisode) => string;

/** A policy of `multiAgent({ policies })`. */
export interface PolicySpec {
  /** Default: that of the agents which are mapped to it. */
  readonly observationSpace?: Space | undefined;
  readonly actionSpace?: Space | undefined;
  /** Default: that of `rlModule()`. */
  readonly moduleClass?: ModuleClass | undefined;
  /** Options that differ from those of `rlModule()`. */
  readonly modelConfig?: (ModelConfig & Readonly<Record<string, unknown>>) | undefined;
}

/** The options of `removeModule`. */
export interface RemoveModuleOptions {
  /** Says by which policies agents act from their next episodes on. Default: as before. */
  readonly policyMappingFn?: PolicyMappingFn | undefined;
  /** The policies that learn. Default: as before. */
  readonly policiesToTrain?: readonly string[] | undefined;
}

/** The options of `addModule`. Spaces, class and `modelConfig` are by default those of `weightsOf`. */
export interface AddModuleOptions extends PolicySpec, RemoveModuleOptions {
  /** The policy whose weights and filters are copied. Default: fresh first weights. */
  readonly weightsOf?: string | undefined;
  /** Values of `training()` that differ for the policy. */
  readonly configOverrides?: Readonly<Record<string, unknown>> | undefined;
}

/** Everything from which a process makes a module. */
export interface ModuleRecipe {
  readonly spec: ModuleSpec;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
}

/** The policies of an algorithm in the form that travels to runners. */
export interface PolicyTable {
  readonly recipes: Readonly<Record<string, ModuleRecipe>>;
  readonly mappingFn: PolicyMappingFn | undefined;
  /** The agents in the environment's order, with their policies in a first episode. */
  readonly agents: readonly (readonly [agent: string, moduleId: string])[];
}

/** Returns the seed of a module. Seeds differ, so that equal networks begin with different weights. */
export function moduleSeed(seed: number, moduleId: string): number {
  return moduleId === DEFAULT_MODULE_ID ? seed : new Random(seed, "module of", moduleId).integer(2 ** 31);
}

/** The policy of a call that names none: the only one, or `"default_policy"`. */
export function onlyOf([first = DEFAULT_MODULE_ID, ...others]: readonly string[]): string {
  return others.length === 0 ? first : DEFAULT_MODULE_ID;
}

/** The policy of an agent. @throws RLError where the mapping gives a policy that does not exist */
export function policyOf(
  agentId: string,
  episode: MappedEpisode,
  { known, mappingFn }: { known: readonly string[]; mappingFn: PolicyMappingFn | undefined },
): string {
  if (mappingFn === undefined) return withoutMapping(agentId, known);
  const policy: unknown = mappingFn(agentId, episode);
  if (typeof policy === "string" && known.includes(policy)) return policy;
  const near = typeof policy === "string" ? nearNames(policy, known) : [];
  throw new RLError(
    `Cannot map agent ${agentId} to a policy: policyMappingFn returns one of ${known.join(", ")}: received ${describeValue(policy)}.${near.length > 0 ? ` Did you mean ${near.join(" or ")}?` : " Add it to policies of multiAgent()"}`,
  );
}

/** The mapping where no function is given: the policy with the name of the agent, or the only one. */
function withoutMapping(agentId: string, known: readonly string[]): string {
  if (known.includes(agentId)) return agentId;
  const [only] = known;
  if (known.length === 1 && only !== undefined) return only;
  throw new RLError(
    `Cannot map agent ${agentId} to a policy: there are ${known.join(", ")}, and none is called ${agentId}. Give multiAgent({ policyMappingFn })`,
  );
}

interface PoliciesRequest {
  readonly policies: readonly string[] | Readonly<Record<string, PolicySpec>>;
  readonly mappingFn: PolicyMappingFn | undefined;
  readonly moduleSpecOf: (id: string) => ModuleSpec;
  readonly env: Pick<MultiAgentEnv, "possibleAgents" | "observationSpaces" | "actionSpaces">;
}

/**
 * Gives each policy its spaces, and checks the mapping of all agents.
 *
 * @throws RLError where an agent has no policy, TypeError where the spaces of a policy are unknown or do not fit its agents
 */
export function resolvePolicies({ policies, mappingFn, moduleSpecOf, env }: PoliciesRequest): PolicyTable {
  const specs = policySpecs(policies);
  const known = Object.keys(specs);
  const agentsOf = new Map<string, string[]>(known.map((id) => [id, []]));
  const random = new Random(0, "policy mapping");
  const agents = env.possibleAgents.map((agent) => {
    const policy = policyOf(agent, { id: "0-0", random: () => random.uniform() }, { known, mappingFn });
    agentsOf.get(policy)?.push(agent);
    return [agent, policy] as const;
  });
  const recipes: Record<string, ModuleRecipe> = {};
  for (const [id, spec] of Object.entries(specs)) {
    const spaceOf = (kind: "observationSpace" | "actionSpace"): Space =>
      policySpace(id, kind, { spec, agents: agentsOf.get(id) ?? [], env });
    recipes[id] = {
      spec: moduleSpecOf(id),
      observationSpace: spaceOf("observationSpace"),
      actionSpace: spaceOf("actionSpace"),
    };
  }
  return { recipes, mappingFn, agents };
}

/** The policies by id. */
export function policySpecs(policies: readonly string[] | Readonly<Record<string, PolicySpec>>): Readonly<Record<string, PolicySpec>> {
  return Array.isArray(policies)
    ? Object.fromEntries((policies as readonly string[]).map((id) => [id, {}]))
    : (policies as Readonly<Record<string, PolicySpec>>);
}

/** The members of a policy in JSON, in which spaces have a form of their own. A class stands there by its name, and is left out. */
export function specFromJson(saved: object): PolicySpec {
  const { moduleClass: _, ...members } = saved as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [name, name.endsWith("Space") ? spaceFromJson(value as SpaceJson) : value]),
  );
}

/** Chooses the space of a policy: the given one, else the space that its agents have. A policy without agents at first gets the space that all agents have. */
function policySpace(
  id: string,
  kind: "observationSpace" | "actionSpace",
  { spec, agents, env }: { spec: PolicySpec; agents: readonly string[]; env: PoliciesRequest["env"] },
): Space {
  const spaces = env[`${kind}s`];
  const [first = "", ...others] = agents.length > 0 ? agents : env.possibleAgents;
  const space: Space | undefined = spec[kind] ?? spaces[first];
  if (space === undefined) throw new TypeError(`Cannot make policy ${id}: agent ${first} has no ${kind}`);
  const wanted = JSON.stringify(space.toJSON());
  const stranger = [first, ...others].find((agent) => JSON.stringify(spaces[agent]?.toJSON()) !== wanted);
  if (stranger === undefined || (agents.length === 0 && spec[kind] !== undefined)) return space;
  if (agents.length === 0)
    throw new TypeError(
      `Cannot make policy ${id}: no agent is mapped to it at first, and the agents have different spaces, so its ${kind} is unknown. Give policies: { ${JSON.stringify(id)}: { ${kind} } }`,
    );
  throw new TypeError(
    `Cannot make policy ${id}: its ${kind} is ${wanted}, and agent ${stranger} has ${JSON.stringify(spaces[stranger]?.toJSON())}. Map agents of different spaces to different policies`,
  );
}
