/** `shoal/autoscaler`: the interface of node providers, for modules that launch nodes in ways of their own. */
export type {
  ExternalProvider,
  LaunchAnswer,
  LaunchCause,
  LaunchRequest,
  NodeProvider,
  ProviderContext,
  ProviderNode,
} from "./provider.ts";
