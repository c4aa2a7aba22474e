/** What nats-server.mjs offers to the tests. */
export declare function natsServerBinary(): string;
