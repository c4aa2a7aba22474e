/** `shoal/util`: what is built on the programming model or beside it. */
export { registerSerializer } from "../core/registered-serializers.ts";
