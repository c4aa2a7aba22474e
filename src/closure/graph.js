"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.NO_REF = exports.ACCESSOR = exports.WRITABLE = exports.CONFIGURABLE = exports.ENUMERABLE = exports.GRAPH_VERSION = void 0;
/** Raised with every incompatible change: a stale worker must refuse, not guess. */
exports.GRAPH_VERSION = 1;
exports.ENUMERABLE = 1;
exports.CONFIGURABLE = 2;
exports.WRITABLE = 4;
exports.ACCESSOR = 8;
/** Stands for a getter or setter that is not there. */
exports.NO_REF = -1;
//# sourceMappingURL=graph.js.map
