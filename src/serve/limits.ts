/**
 * Limits of Serve and their reasons.
 *
 * The name of Ray's limit stands beside the same one here. Limits that follow from another are computed from it.
 * Limits that a user may change are defaults of options (`proxy/options/http-options.ts`, `deployment-options.ts`).
 */

/** Bytes that one side of a stream may have sent and the other not yet taken: a chunk of a socket's read four times over, so that neither waits for the other. */
export const STREAM_WINDOW_BYTES = 256 * 1024;
/** Receivers return credit in portions of this size: one credit message a window would stall the sender, one a chunk would cost as much as the chunk. */
export const STREAM_CREDIT_BYTES = STREAM_WINDOW_BYTES / 4;
/** The largest piece of a body in one frame: others' frames come between the pieces of a large body. */
export const BODY_PIECE_BYTES = 64 * 1024;
/** A message of a WebSocket costs that much credit beside its bytes, so that a flood of empty ones is held up. */
export const MESSAGE_COST_BYTES = 64;
/** The largest message of a WebSocket, where `maxMessageBytes` says nothing else. */
export const MESSAGE_BYTES_MAX = 1024 * 1024;
/** The largest message of a client of gRPC, where `maxMessageBytes` says nothing else: what gRPC's libraries take by default. */
export const GRPC_MESSAGE_BYTES_MAX = 4 * 1024 * 1024;
/** Watches of health and streams of reflection that a client's connection of gRPC has at a time: they never end by themselves, and a client needs one for each service. */
export const GRPC_OWN_STREAMS_MAX = 100;
/** Limit on simultaneous calls of one gRPC connection. Clients learn the limit and hold back further calls. */
export const GRPC_CALLS_MAX = 1_000;
/** Bytes that a replica may have sent to a WebSocket before its client takes them. A program that awaits `send` stays far below. */
export const SOCKET_BUFFER_BYTES_MAX = 64 * 1024 * 1024;
/** Interval between pings to clients of WebSockets. A client without an answer by the next ping is gone. */
export const PING_EVERY_MS = 30_000;
/** Time limit on a client's answer to the close of its WebSocket. */
export const SOCKET_CLOSE_WITHIN_MS = 5_000;
/** A request's body of known size up to this is read before a replica is chosen, so that a slow client holds none. */
export const GATHERED_BODY_BYTES = 64 * 1024;
/** Small pieces that a body gets in one turn of the event loop go out as one, up to this. */
export const GATHERED_PIECES_BYTES = 16 * 1024;
/** Limit on the buffer that a stream keeps for its next turn's pieces: enough for tokens, and little for ten thousand waiting streams. */
export const KEPT_GATHER_BYTES = 1024;
/** An answer up to this is joined with its head to one write; above, the copy costs more than a second buffer. */
export const JOINED_BODY_BYTES = 16 * 1024;
/** Headers of a request, all names and values together: what `node:http` allows by default. */
export const HEADER_BYTES_MAX = 16 * 1024;
/** The body of a request, where `maxBodyBytes` says nothing else: 1 GiB. */
export const BODY_BYTES_MAX = 1024 * 1024 * 1024;
/** How long a client may take to send its headers. */
export const HEADERS_WITHIN_MS = 60_000;
/** How long a client may pause in the middle of a request's body. */
export const BODY_PAUSE_MS = 60_000;
/** Longest pause of a client in reading its answer. */
export const ANSWER_PAUSE_MS = 60_000;
/** Least rate at which a client sends its body and reads its answer, averaged over the longest pause. A modem of 1990 was ten times as fast. */
export const CLIENT_BYTES_PER_SECOND_MIN = 240;
/** How often a proxy looks at what its clients have not sent or taken. */
export const UNSENT_EVERY_MS = 1_000;
/** Bytes that all clients of a proxy together may leave unsent: above that those that stand still are cut off, the largest first. */
export const UNSENT_BYTES_MAX = 256 * 1024 * 1024;
/** Part of them for the clients of one application, so that those of another have room. */
export const UNSENT_APP_BYTES_MAX = UNSENT_BYTES_MAX / 2;
/** Part of them for one connection, which may have many streams. */
export const UNSENT_CONNECTION_BYTES_MAX = UNSENT_BYTES_MAX / 16;
/** A client is not cut off to make room before it has stood still for so long. */
export const STALLED_MS_MIN = 5_000;
/** Time that a proxy waits for one client, all its waits for one body together: 1 GiB at 2.4 megabits a second. */
export const TRANSFER_MS_MAX = 3_600_000;
/** Requests of one connection that are not answered yet: a client that pipelines more is refused. */
export const PIPELINED_MAX = 100;
/** Streams of one connection of HTTP/2 that its client broke off before their answers, less those that were answered: above that it floods, and its connection ends. */
export const BROKEN_STREAMS_MAX = 200;
/** Frames of SETTINGS in one, and unanswered pings of one connection: clients need few. */
export const HTTP2_SETTINGS_MAX = 16;
/** After a refusal, the rest of the request's body is read and dropped for this long, so that the client sees the answer before the connection ends. */
export const LINGER_MS = 1_000;
/**
 * Time to the head of an answer, where `requestTimeoutMs` sets none. It is the longest that common clients wait: OpenAI's wait ten minutes, `fetch` of Node five.
 * nginx waits one minute and gunicorn half a minute, which cuts off answers of models. Ray: request_timeout_s, without a limit.
 */
export const REQUEST_TIMEOUT_MS = 600_000;
/**
 * Requests that wait for one deployment at one proxy, where `maxQueuedRequests` says nothing: with bodies of 64 KiB they fill `UNSENT_APP_BYTES_MAX`. gunicorn's
 * backlog is as long. Handles have no such limit, as a program knows what it calls. Ray: max_queued_requests, without a limit.
 */
export const PROXY_QUEUED_MAX = UNSENT_APP_BYTES_MAX / GATHERED_BODY_BYTES;
/** A connection without a request is closed after that long. Ray: keep_alive_timeout_s. */
export const KEEP_ALIVE_MS = 90_000;
/** Grace period of a proxy on a draining node, in which load balancers notice: mostly three probes, ten seconds apart. Ray: PROXY_MIN_DRAINING_PERIOD_S. */
export const DRAIN_GRACE_MS = 30_000;
/** The grace has no more than this part of the time that is left until the node's deadline: open requests have the rest. */
export const DRAIN_GRACE_PART = 0.5;
/** Requests that are open when the grace is over have so long; those that are left then are ended. */
export const DRAIN_WITHIN_MS = 60_000;
/** Calls have no more than this part of the time until the node's deadline: the rest is for telling clients. */
export const DRAIN_WITHIN_PART = 0.9;
/** Time limit on a drained proxy's final answer. */
export const DRAIN_ANSWER_MS = 2_000;
/** Interval between a proxy's checks for renewed certificate files. */
export const CERTIFICATE_EVERY_MS = 5_000;
/** Replicas of a deployment that are told of by REST after their end. Ray: RAY_SERVE_RETAINED_DEAD_REPLICAS. */
export const ENDED_REPLICAS_KEPT = 10;
/** Changes of the number of replicas of a deployment that are told of by REST. */
export const DECISIONS_KEPT = 10;
/** Connections of clients that a proxy has at a time: each costs some 10 KB. */
export const CLIENTS_MAX = 20_000;
/** Open files that a proxy keeps for itself, of all that its process may have: one for each replica, and those of the node. */
export const OWN_FILES_MAX = 1_024;
/** The same where there are few. */
export const OWN_FILES_PART = 0.25;

/** Where a request waits in a router whose replicas are all busy as far as is known, how soon it asks one again. Ray: backoff from 25 ms. */
export const BUSY_RETRY_MIN_MS = 10;
export const BUSY_RETRY_MAX_MS = 500;
/** A request that waited so long for a place is reported in a log and in the status. Streams and sockets may hold all places for good. */
export const LONG_WAIT_MS = 5_000;
/** How often the log of one process repeats that. */
export const LONG_WAIT_AGAIN_MS = 60_000;
/** Time without requests for a replica whose connection broke, unless the controller reports its state earlier. */
export const LOST_FOR_MS = 1_000;
/** Limit on replicas that die while they run one call, before the call fails: the call may be the cause. */
export const CALL_ATTEMPTS_MAX = 4;
/** How soon a process tries to reach the controller again. */
export const WATCH_RETRY_MS = 200;
/** A process that asks what the controller knows now goes on without an answer after that long, and takes the connection for dead: the controller may have fallen silent with its machine. */
export const SYNC_WITHIN_MS = 5_000;
/** How often routers and replicas tell the controller how many requests there are. Ray: metrics_interval_s is 10; scaling that follows load within a second needs less. */
export const REPORT_EVERY_MS = 500;
/** A report that is older counts no more: its process has ended. */
export const REPORT_VALID_MS = 5_000;

/** A replica or proxy that does not tell its metrics within that is left out: it may be computing. */
export const METRICS_WITHIN_MS = 2_000;
/** Size from which captured code is reported: a zod schema has 370 KB and takes 300 to 1,500 ms, a class that goes by name less than 1 KB and 1 ms. */
export const LARGE_CODE_BYTES = 100_000;
export const SLOW_CAPTURE_MS = 250;
/** Time limit on a replica's answer to a new controller. A silent replica is replaced. */
export const ADOPT_WITHIN_MS = 10_000;
/** How often a process measures how late its timers are. Ray: 5 s. */
export const LOOP_EVERY_MS = 1_000;
/** Over how long the utilization of a replica is told: as long as Prometheus takes for a few readings. */
export const UTILIZATION_WINDOW_MS = 60_000;
/** How finely it is kept. */
export const UTILIZATION_STEP_MS = 1_000;
/** The same minute is kept in so many parts for the slowest request. Ray: RAY_SERVE_REPLICA_MAX_PROCESSING_LATENCY_NUM_BUCKETS. */
export const SLOWEST_PARTS = 6;
/** How often the controller looks at its deployments. Ray: CONTROL_LOOP_INTERVAL_S. */
export const CONTROL_EVERY_MS = 100;
/** Interval between the controller's lookups of nodes, because each node has separate proxies. */
export const FOLLOW_NODES_EVERY_MS = 1_000;
/** Routers are told of new replicas at most that often; of those that end, at once. */
export const PUBLISH_EVERY_MS = 10;
/** The first pause before a replica that did not start is started again; it doubles. */
export const START_RETRY_MIN_MS = 100;
export const START_RETRY_MAX_MS = 10_000;
/** A replica that is busy with a `userConfig` for that long after another one was wanted is replaced: it may hang. */
export const OUTDATED_CONFIG_WITHIN_MS = 10_000;
/** Until a replica that did not take its rank is told it again. */
export const RANK_AGAIN_MS = 1_000;
/** A replica that has not started after that long is asked for the reason. Ray: SLOW_STARTUP_WARNING_S is 30; a replica that waits for resources is one that nobody needs to wait for. */
export const SLOW_START_MS = 2_000;
/** How often it is asked again, and how often a program that deploys is told. */
export const SLOW_START_AGAIN_MS = 5_000;
/** An update that finds no room for a replica of the new version beside the old ones gives up one of those after that long. */
export const SURGE_PATIENCE_MS = 5_000;
/** Health checks that fail one after the other before a replica is replaced. Ray: REPLICA_HEALTH_CHECK_UNHEALTHY_THRESHOLD. */
export const HEALTH_FAILURES_MAX = 3;
/** Code of a deployment in the cluster's store lies in pieces of this size: a value there is 1 MiB at most. */
export const CODE_PIECE_BYTES = 512 * 1024;

/** Limit on the pieces of an answer that Python code is ahead of its client: enough to avoid waits, and below any stream's 256, as pieces may be large. */
export const PYTHON_PIECES_AHEAD = 8;
/** Calls that one replica may have under way beside its own limit: health checks and orders never wait behind requests. */
export const REPLICA_CONCURRENCY = 1_000_000;
/** The longest wait for a proxy or a controller to come up. */
export const COMPONENT_START_WITHIN_MS = 60_000;

/** How often a controller tries to open the REST API again whose port another program has. */
export const API_RETRY_MS = 1_000;
/** Where the REST API listens, as Ray's dashboard does. */
export const API_PORT = 8265;
/** A replica is replaced within a second: its cause of death would be gone before anybody asks for the status. */
export const DEATH_SHOWN_MS = 600_000;
/** The text of a configuration, which is kept as one value in the cluster's store, of 1 MiB at most. A configuration has thousands of deployments at this size. */
export const CONFIG_BYTES_MAX = 1_000_000;
/** The record of an application in the cluster's store, where a value takes 1 MiB, less what joins it later: the reason of a failure, and what the encoding adds. */
export const RECORD_BYTES_MAX = 900 * 1024;
/** Levels of a configuration in JSON: those of Serve itself are ten, and arguments of applications have few of their own. */
export const CONFIG_DEPTH_MAX = 100;
/** Aliases of YAML in a configuration: hundreds of applications that share their settings have fewer. */
export const CONFIG_ALIASES_MAX = 1_000;
/** How long a client of the REST API may take to send its request. */
export const API_BODY_WITHIN_MS = 30_000;
/** Loading the module of an application and building it: beyond that the module hangs. */
export const BUILD_WITHIN_MS = 600_000;

/** Files that count to the version of a deployment. Further ones are not looked at: no code is made of more, and a search that went astray ends. */
export const VERSIONED_FILES_MAX = 10_000;
