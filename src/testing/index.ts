/** `shoal/testing`: a cluster of several nodes on one machine, for the tests of programs. */
export {
  type NodeOptions,
  type PartitionOptions,
  TestCluster,
  type TestClusterOptions,
  type TestNats,
  type TestNode,
  type TestSide,
} from "./test-cluster.ts";
