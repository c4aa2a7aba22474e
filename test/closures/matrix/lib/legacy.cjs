"use strict";
/** A CommonJS module, as older packages are. */
module.exports = { double: (value) => value * 2, name: "legacy" };
