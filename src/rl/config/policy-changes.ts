/**
 * Configurations whose policies change while the algorithm works: policies are added, removed, and taken from checkpoints.
 *
 * Each change gives another configuration, so that modules, mapping and checkpoints have one source. The algorithm checks the new configuration
 * before it changes anything.
 */
import { describeValue, nearNames, readOptions } from "../../core/internal.ts";
import { RLError } from "../errors.ts";
import {
  type AddModuleOptions,
  DEFAULT_MODULE_ID,
  type ModuleRecipe,
  type RemoveModuleOptions,
  type PolicyMappingFn,
  type PolicySpec,
  policySpecs,
  specFromJson,
} from "../modules/policy-mapping.ts";
import type { AnyConfig } from "./algorithm-registry.ts";
import { ADD_MODULE, isModuleId, REMOVE_MODULE } from "./option-tables.ts";

type Specs = Readonly<Record<string, PolicySpec>>;
type Overrides = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** The policies of a configuration, by id. */
function specsOf(config: AnyConfig): Specs {
  return policySpecs(config.values.multiAgent.policies ?? [DEFAULT_MODULE_ID]);
}

/** A configuration with one more policy. @throws TypeError, RangeError, RLError for an id that exists or a `weightsOf` that does not */
export function withPolicy(
  config: AnyConfig,
  id: string,
  { given, recipes }: { given: AddModuleOptions; recipes: Readonly<Record<string, ModuleRecipe>> },
): { config: AnyConfig; weightsOf: string | undefined } {
  const { weightsOf, configOverrides, policyMappingFn, policiesToTrain, ...own } = readOptions(given, ADD_MODULE);
  const specs = specsOf(config);
  if (typeof id !== "string" || !isModuleId(id))
    throw new TypeError(`Cannot add a module: an id has letters, digits, _, - and . only: received ${describeValue(id)}`);
  if (Object.hasOwn(specs, id))
    throw new RLError(
      `Cannot add module ${id}: there is one of this id. Remove it first, or choose an id besides ${Object.keys(specs).join(", ")}`,
    );
  if (weightsOf !== undefined) checkKnown(weightsOf, specs, `Cannot add module ${id}: weightsOf names a policy that exists`);
  const base = weightsOf === undefined ? {} : { ...spacesOf(recipes[weightsOf] as ModuleRecipe), ...specs[weightsOf] };
  const set = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
  const overrides = config.values.multiAgent.algorithmConfigOverridesPerModule;
  return {
    config: changed(config, {
      policies: { ...specs, [id]: { ...base, ...set } },
      overrides: configOverrides === undefined ? overrides : { ...overrides, [id]: configOverrides },
      policyMappingFn,
      policiesToTrain,
    }),
    weightsOf,
  };
}

function spacesOf({ observationSpace, actionSpace }: ModuleRecipe): PolicySpec {
  return { observationSpace, actionSpace };
}

/** A configuration with one policy less. @throws TypeError, RLError for an id that does not exist, or the only one */
export function withoutPolicy(config: AnyConfig, id: string, given: RemoveModuleOptions): AnyConfig {
  const { policyMappingFn, policiesToTrain } = readOptions(given, REMOVE_MODULE);
  const specs = specsOf(config);
  checkKnown(id, specs, "Cannot remove a module: there is none of this id");
  const { [id]: _, ...others } = specs;
  if (Object.keys(others).length === 0) throw new RLError(`Cannot remove module ${id}: it is the only one. Add another one first`);
  const { policiesToTrain: trained, algorithmConfigOverridesPerModule } = config.values.multiAgent;
  const { [id]: __, ...overrides } = algorithmConfigOverridesPerModule;
  return changed(config, {
    policies: others,
    overrides,
    policyMappingFn,
    policiesToTrain: policiesToTrain ?? trained?.filter((each) => each !== id),
  });
}

/** The policies that were added and removed since an algorithm was built. */
export interface PolicyChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

interface SavedPolicies {
  readonly config: { readonly given: Readonly<Record<string, object>> };
  readonly modules: Readonly<Record<string, unknown>>;
  readonly policyChanges?: PolicyChanges | undefined;
}

/**
 * A configuration with the policies of a checkpoint, where policies were added or removed before it was saved. Else the configuration itself.
 *
 * @param own - the changes since the algorithm was built that restores the checkpoint
 * @throws RLError where an added policy has a class of a user, which no checkpoint holds
 */
export function withSavedPolicies(
  config: AnyConfig,
  { config: saved, modules, policyChanges = NO_CHANGES }: SavedPolicies,
  { path, own = NO_CHANGES }: { path: string; own?: PolicyChanges },
): AnyConfig {
  const specs = specsOf(config);
  const { policies = {}, policiesToTrain, algorithmConfigOverridesPerModule = {} } = (saved.given["multiAgent"] ?? {}) as SavedMultiAgent;
  const savedSpecs = policySpecs(policies) as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  const mayAdd = [...policyChanges.added, ...own.removed];
  const mayDrop = [...policyChanges.removed, ...own.added];
  const added = Object.keys(modules).filter((id) => !Object.hasOwn(specs, id) && mayAdd.includes(id));
  const dropped = Object.keys(specs).filter((id) => !Object.hasOwn(modules, id) && mayDrop.includes(id));
  if (added.length + dropped.length === 0) return config;
  const kept = Object.entries(specs).filter(([id]) => !dropped.includes(id));
  const known = { ...Object.fromEntries(kept), ...Object.fromEntries(added.map((id) => [id, readSpec(id, savedSpecs[id] ?? {}, path)])) };
  const overrides: Overrides = { ...algorithmConfigOverridesPerModule, ...config.values.multiAgent.algorithmConfigOverridesPerModule };
  return changed(config, {
    policies: known,
    overrides: Object.fromEntries(Object.entries(overrides).filter(([id]) => Object.hasOwn(known, id))),
    policyMappingFn: undefined,
    policiesToTrain: policiesToTrain ?? config.values.multiAgent.policiesToTrain?.filter((id) => Object.hasOwn(known, id)),
  });
}

const NO_CHANGES: PolicyChanges = { added: [], removed: [] };

/** The part of `multiAgent()` in a checkpoint. A class stands there by its name. */
interface SavedMultiAgent {
  readonly policies?: readonly string[] | Readonly<Record<string, object>>;
  readonly policiesToTrain?: readonly string[];
  readonly algorithmConfigOverridesPerModule?: Overrides;
}

function readSpec(id: string, { moduleClass, ...spec }: Readonly<Record<string, unknown>>, path: string): PolicySpec {
  if (typeof moduleClass === "string")
    throw new RLError(
      `Cannot restore ${path}: policy ${id} has the class ${moduleClass}, and a checkpoint has no classes. Give it in policies of multiAgent(): { ${JSON.stringify(id)}: { moduleClass: ${moduleClass} } }`,
    );
  return specFromJson(spec);
}

function changed(
  config: AnyConfig,
  {
    policies,
    overrides,
    policyMappingFn,
    policiesToTrain,
  }: {
    policies: Specs;
    overrides: Overrides;
    policyMappingFn: PolicyMappingFn | undefined;
    policiesToTrain: readonly string[] | undefined;
  },
): AnyConfig {
  return config.copy().multiAgent({ policies, algorithmConfigOverridesPerModule: overrides, policyMappingFn, policiesToTrain });
}

function checkKnown(id: string, specs: Specs, reason: string): void {
  if (Object.hasOwn(specs, id)) return;
  const known = Object.keys(specs);
  const near = typeof id === "string" ? nearNames(id, known) : [];
  throw new RLError(
    `${reason}: received ${describeValue(id)}. ${near.length > 0 ? `Did you mean ${near.join(" or ")}?` : `There are ${known.join(", ")}`}`,
  );
}
