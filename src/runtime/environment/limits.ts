/** Limits of runtime environments: of the folders that are packed for other nodes, and of the time that building one takes. */

/** As Ray's limit for a working directory. */
export const PACKAGE_SIZE_BYTES_MAX = 512 * 1024 * 1024;
export const PACKAGE_FILES_MAX = 50_000;
/** The list of a package's files, of which each takes its path and a digest. */
export const MANIFEST_BYTES_MAX = 32 * 1024 * 1024;
/** Size of a request for a piece of a package on another node. */
export const PACKAGE_PIECE_BYTES = 1024 * 1024;
/** Time to install an environment's packages, unless the environment sets another. */
export const SETUP_TIMEOUT_MS = 600_000;
