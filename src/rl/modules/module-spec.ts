/**
 * How a process makes the module of a policy: the spaces, the class and its configuration, in a form that travels.
 *
 * `buildModule` gives the module, the encoder of observations and the distribution of actions, which belong together wherever a policy is used. Equal seeds give equal first weights.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { Random, withRandom } from "../../tensor/index.ts";
import type { ActionDistribution } from "../distributions/action-distribution.ts";
import { actionDistribution, type ActionOptions, type PolicyKind } from "../distributions/choose-distribution.ts";
import { ObservationPipeline, type PipelineOptions } from "../connectors/observation-pipeline.ts";
import type { Space } from "../spaces/space.ts";
import { ActorModule } from "./actor-module.ts";
import { QModule } from "./q-module.ts";
import { MaskedModule, maskedChoices } from "./masked-module.ts";
import { ModuleMemory } from "./module-memory.ts";
import { DefaultModule } from "./default-module.ts";
import type { ModelConfig } from "./model-config.ts";
import type { ModuleClass, RLModule } from "./rl-module.ts";

export interface ModuleSpec extends ActionOptions, PipelineOptions {
  /** Default: the module of the kind of policy. */
  readonly moduleClass: ModuleClass | undefined;
  readonly modelConfig: ModelConfig;
}

const DEFAULT_MODULES: Readonly<Record<PolicyKind, ModuleClass>> = {
  stochastic: DefaultModule,
  values: QModule,
  squashed: ActorModule,
  deterministic: ActorModule,
  relaxed: ActorModule,
};

/** A module with everything that turns observations into actions. */
export interface BuiltModule {
  readonly module: RLModule;
  readonly encoder: ObservationPipeline;
  readonly distribution: ActionDistribution;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  /** The choices of each part of an action, where observations have a mask. */
  readonly maskedChoices: readonly number[];
  /** The state that the module carries from step to step. */
  readonly memory: ModuleMemory;
}

/** Ray's default of `maxSeqLen`. */
const SEQUENCE_LENGTH = 20;

export function buildModule(
  spec: ModuleSpec,
  { observationSpace, actionSpace }: { observationSpace: Space; actionSpace: Space },
  seed = 0,
): BuiltModule {
  const encoder = new ObservationPipeline({ observationSpace, actionSpace }, spec);
  const distribution = actionDistribution(actionSpace, spec);
  const moduleClass = spec.moduleClass ?? DEFAULT_MODULES[spec.policyKind ?? "stochastic"];
  const { maskSize } = encoder;
  const choices = maskedChoices(maskSize, actionSpace);
  const setup = {
    observationSpace,
    actionSpace,
    inputSize: encoder.size - maskSize,
    pictures: encoder.pictures,
    outputSize: distribution.inputSize,
    modelConfig: spec.modelConfig as ModelConfig & Readonly<Record<string, unknown>>,
  };
  const { convFilters = [], maxSeqLen = SEQUENCE_LENGTH } = spec.modelConfig;
  if (spec.moduleClass === undefined && convFilters.length > 0 && encoder.pictures.length === 0)
    throw new TypeError(
      `Cannot make a network: convFilters needs a picture, a Box of the shape [height, width, channels]: received ${describeValue(observationSpace.toJSON())}. Leave convFilters out`,
    );
  const inner = withRandom(new Random(seed, "module"), () => new moduleClass(setup));
  const module = maskSize === 0 ? inner : new MaskedModule(setup, inner, maskSize);
  const memory = new ModuleMemory(module.initialState(), maxSeqLen);
  return { module, encoder, distribution, observationSpace, actionSpace, maskedChoices: choices, memory };
}
