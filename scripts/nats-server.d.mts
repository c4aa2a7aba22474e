/** Types of nats-server.mjs for the tests. */
export declare function natsServerBinary(): string;
