/** `shoal/testing`: a cluster of several nodes on one machine for the tests of programs, and the contract of node providers. */
export { type ProviderCase, type ProviderFaults, providerSuite, type ProviderUnderTest } from "./provider-suite.ts";
export {
  type NodeOptions,
  type PartitionOptions,
  TestCluster,
  type TestClusterOptions,
  type TestNats,
  type TestNode,
  type TestSide,
} from "./test-cluster.ts";
