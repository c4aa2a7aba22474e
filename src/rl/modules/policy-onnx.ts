/**
 * The network of a policy as an ONNX model: from encoded observations to the numbers of the action distribution.
 *
 * Connectors are no part of the network, so a policy with some is refused unless the caller applies them. Masks are: the last numbers of an
 * observation forbid choices as they do here.
 */
import { type Tensor, toOnnx } from "../../tensor/index.ts";
import { RLError } from "../errors.ts";
import type { BuiltModule } from "./module-spec.ts";
import type { ModuleOutput } from "./rl-module.ts";

export interface PolicyOnnxOptions {
  /** Whether the caller of the model applies connectors, such as filters, itself. Default: false. */
  readonly withoutConnectors?: boolean | undefined;
}

/** @throws RLError for a policy with connectors; Error where the module does something that a graph cannot say */
export function policyToOnnx(built: BuiltModule, { withoutConnectors = false }: PolicyOnnxOptions = {}): Uint8Array<ArrayBuffer> {
  const { module, encoder, memory, observationSpace, actionSpace } = built;
  const connectors = encoder.connectors.map((connector) => connector.constructor.name);
  if (connectors.length > 0 && !withoutConnectors)
    throw new RLError(
      `Cannot write ONNX: the model has no connectors, and the policy has ${connectors.join(", ")}. Apply them to the inputs yourself, and say so: { withoutConnectors: true }`,
    );
  const states = Object.fromEntries(Array.from(memory.lengths, ([name, length]) => [`stateIn.${name}`, [-1, length]]));
  return toOnnx(module, {
    inputs: { obs: [-1, encoder.size], ...states },
    forward: ({ obs, ...given }) => {
      const stateIn = Object.fromEntries(Object.entries(given).map(([name, state]) => [name.slice("stateIn.".length), state]));
      return namedOutputs(module.forward({ obs: obs as Tensor, ...(memory.size === 0 ? {} : { stateIn }) }));
    },
    metadata: { observationSpace: JSON.stringify(observationSpace), actionSpace: JSON.stringify(actionSpace) },
  });
}

function namedOutputs({ stateOut = {}, ...outputs }: ModuleOutput): Record<string, Tensor> {
  const states = Object.entries(stateOut).map(([name, state]) => [`stateOut.${name}`, state] as const);
  return Object.fromEntries([...Object.entries(outputs).filter(([, output]) => output !== undefined), ...states]);
}
