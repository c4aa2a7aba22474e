/** `shoal/testing`: a cluster of several nodes on one machine, for the tests of programs. */
export { type NodeOptions, TestCluster, type TestClusterOptions, type TestNode } from "./test-cluster.ts";
