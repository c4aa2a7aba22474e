/** Bounds of the HTTP server: a client that is slow, greedy or hostile must not take it from the others. */

/** Default port, that of Ray's dashboard. */
export const DASHBOARD_PORT = 8_265;
/** Bytes of a request's line and headers. Cookies and proxies need some; more is an attack. */
export const HTTP_HEADER_BYTES_MAX = 16_384;
/** Bytes of a JSON body. */
export const JSON_BYTES_MAX = 1_048_576;
/** A request's head and body are here within this time, or the connection ends. */
export const REQUEST_WITHIN_MS = 30_000;
/** Open connections. Idle ones cost some 10 KB each. */
export const CONNECTIONS_MAX = 4_096;
/** Requests that are answered at once; further ones are refused with 503. */
export const REQUESTS_MAX = 256;
/** Questions to the cluster that run at once; further ones are refused with 429. */
export const STATE_QUERIES_MAX = 16;
/** Logs that are sent at once; further ones are refused with 429. */
export const STREAMS_MAX = 64;
/** Time between two looks at a log that is followed. */
export const LOG_LOOK_EVERY_MS_MIN = 100;
export const LOG_LOOK_EVERY_MS_MAX = 60_000;
/** Lines of the first step of a log on a page. */
export const LOG_STEP_LINES_MAX = 100_000;
/** Nodes whose metrics are on the page of the cluster. */
export const NODES_OF_ONE_PAGE_MAX = 50;
/** Equal questions of several viewers within this time share one answer. */
export const SHARED_ANSWER_MS = 500;
/** Time in which the cluster answers a question of a route. */
export const CLUSTER_ANSWERS_WITHIN_MS = 30_000;
/** A one-time link is good for this time. */
export const LOGIN_CODE_MS = 60_000;
/** Open one-time links; the oldest one makes room. */
export const LOGIN_CODES_MAX = 16;
/** A browser's session. */
export const SESSION_MS = 12 * 3_600_000;
/** A revoked token may be taken for this time, for which its state is remembered. */
export const TOKEN_STATE_MS = 2_000;
/** Remembered states of made tokens. */
export const TOKEN_STATES_MAX = 64;
/** Bodies above this size are compressed. */
export const COMPRESSED_FROM_BYTES = 1_024;
/** Time for the rest of a refused body, so that its client reads the answer. */
export const REFUSED_BODY_MS = 1_000;
/** Answers that are kept for several viewers. */
export const SHARED_ANSWERS_MAX = 64;
/** Time in which the head answers a question about its health. */
export const HEALTHY_WITHIN_MS = 5_000;
/** Age up to which an answer about the head's health is given again. */
export const HEALTH_SHARED_MS = 1_000;
/** Bytes of a job's log that one answer holds. */
export const JOB_LOG_BYTES_MAX = 16_777_216;
/** Bytes of a WebSocket's message from a client, which has nothing to say. */
export const SOCKET_MESSAGE_BYTES_MAX = 4_096;
/** Time between two pings. A client that answers none of them is cut off. */
export const SOCKET_PINGED_EVERY_MS = 30_000;
/** Time between two looks at a job's log: short at first, for jobs that end soon. */
export const JOB_LOOK_EVERY_MS_MIN = 30;
export const JOB_LOOK_EVERY_MS_MAX = 250;
/** Time for which the head or a node may be away before a followed log breaks off. */
export const JOB_AWAY_MS_MAX = 60_000;
/** Bytes of a package with a working directory, as it is sent. */
export const PACKAGE_BYTES_MAX = 524_288_000;
/** Time in which a package is here. */
export const PACKAGE_WITHIN_MS = 600_000;
/** Packages that are received at once; further ones are refused with 503. */
export const PACKAGES_RECEIVED_MAX = 4;
/** Bytes of all packages, unpacked. */
export const PACKAGES_BYTES_MAX = 5_368_709_120;
/** A package that was used within this time stays: its job may not have begun. */
export const PACKAGE_USED_MS = 3_600_000;
/** Programs that nobody submitted in a list of jobs. */
export const DRIVERS_LISTED_MAX = 1_000;
/** Length of a profile over HTTP, in seconds. */
export const PROFILE_SECONDS_DEFAULT = 5;
export const PROFILE_SECONDS_MAX = 600;
/** Names in one question for series. */
export const SERIES_NAMES_ASKED_MAX = 32;
/** Start of series without `since_ms`: an hour ago. */
export const SERIES_SINCE_DEFAULT_MS = 3_595_000;
