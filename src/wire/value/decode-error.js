"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.DecodeError = void 0;
/**
 * The error of bytes that are no value of the format: truncated, damaged, written by a later version, or hostile.
 *
 * Thrown by the decoder; whoever reads from a connection closes it then, as nothing that follows can be trusted.
 * A member of the family, so that it keeps its class where the bytes were found far from the program that asked for them.
 */
const errors_ts_1 = require("../../base/errors.js");
/** Bytes from another process or from the store are not a value. */
class DecodeError extends errors_ts_1.ShoalError {
    static code = "DECODE_FAILED";
}
exports.DecodeError = DecodeError;
(0, errors_ts_1.registerErrorClass)(DecodeError);
//# sourceMappingURL=decode-error.js.map