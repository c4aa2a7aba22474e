"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.parseText = parseText;
/**
 * What the text of one function or class (as `Function.prototype.toString` gives it) needs from its surroundings, and where it must be
 * edited before it can be evaluated somewhere else.
 *
 * Decides the form of the text (an expression, a method of an object, a member of a class) and, for classes, which parts never
 * run again: heritage (already a value), static fields and static blocks (their results are sent). Called by `function-facts`.
 * All ranges count from the start of the text.
 */
const free_variables_ts_1 = require("./free-variables.js");
const syntax_ts_1 = require("./syntax.js");
const WRAPPERS = [
  { form: "expression", prefix: "(", suffix: "\n)" },
  { form: "method", prefix: "({", suffix: "\n})" },
  { form: "member", prefix: "(class{", suffix: "\n})" },
];
/** Initializers that neither read a name nor call anything. */
const INERT_INITIALIZERS = new Set(["Literal", "ArrowFunctionExpression", "FunctionExpression", "ClassExpression"]);
/** `null` when V8's text is not a function or class that this can take apart. */
function parseText(text) {
  for (const { form, prefix, suffix } of WRAPPERS) {
    let expression;
    try {
      const statement = (0, syntax_ts_1.parseProgram)(prefix + text + suffix, "script").body[0];
      if (statement?.type !== "ExpressionStatement") continue;
      expression = statement.expression;
    } catch {
      continue;
    }
    if (form === "expression") {
      if ((0, syntax_ts_1.isFunctionNode)(expression) || (0, syntax_ts_1.isClassNode)(expression)) {
        return describe({ text, form, node: expression, member: null, offset: prefix.length });
      }
      continue;
    }
    const member = soleMember(expression);
    if (member) return describe({ text, form, node: member.value, member, offset: prefix.length });
  }
  return null;
}
function soleMember(expression) {
  const member = expression.type === "ObjectExpression" ? expression.properties[0] : undefined;
  if (member?.type === "Property") return member;
  const classMember = expression.type === "ClassExpression" ? expression.body.body[0] : undefined;
  return classMember?.type === "MethodDefinition" ? classMember : null;
}
function describe(parts) {
  const { text, form, node, member, offset } = parts;
  const analysis = (0, free_variables_ts_1.analyzeScopes)(node, { skipStaticParts: true });
  const isClass = (0, syntax_ts_1.isClassNode)(node);
  const isAsyncOrGenerator = (0, syntax_ts_1.isFunctionNode)(node) && (node.async || node.generator);
  return {
    form,
    isArrow: node.type === "ArrowFunctionExpression",
    isPlainFunction: (0, syntax_ts_1.isFunctionNode)(node) && !isAsyncOrGenerator,
    free: analysis.free,
    usesOuterThis: analysis.usesOuterThis && !isClass,
    usesOuterSuper: analysis.usesOuterSuper,
    usesOuterNewTarget: analysis.usesOuterNewTarget,
    outerPrivateName: analysis.outerPrivateName,
    hasDirectEval: analysis.hasDirectEval,
    importMeta: analysis.importMeta.map(([start, end]) => [start - offset, end - offset]),
    keyRange: member ? keyRangeOf(text, member, offset) : null,
    accessor: member && (member.kind === "get" || member.kind === "set") ? member.kind : null,
    class: isClass ? describeClass(node, { text, offset, analysis }) : null,
  };
}
function keyRangeOf(text, member, offset) {
  const start = member.key.start - offset;
  const end = text.indexOf("(", member.key.end - offset);
  return [member.computed ? text.lastIndexOf("[", start) : start, end];
}
function describeClass(node, { text, offset, analysis }) {
  const at = (position) => position - offset;
  const staticParts = [];
  const fieldInitializers = [];
  const privateFields = [];
  const privateStaticFields = [];
  const methods = [];
  let hasPrivateNames = false;
  let hasInstancePrivates = false;
  let constructorBodyStart = null;
  for (const member of node.body.body) {
    if (member.type === "StaticBlock") {
      staticParts.push([at(member.body[0]?.start ?? member.end - 1), at(member.end) - 1]);
      continue;
    }
    const isPrivate = member.key.type === "PrivateIdentifier";
    hasPrivateNames ||= isPrivate;
    hasInstancePrivates ||= isPrivate && !member.static;
    if (member.type === "MethodDefinition") {
      if (member.kind === "constructor") constructorBodyStart = at(member.value.body.start) + 1;
      const name = isPrivate ? null : ((0, syntax_ts_1.literalKey)(member.key, member.computed) ?? null);
      methods.push({ isStatic: member.static, name, range: [at(member.start), at(member.end)] });
      continue;
    }
    if (member.key.type === "PrivateIdentifier") {
      (member.static ? privateStaticFields : privateFields).push(`#${member.key.name}`);
    }
    if (!member.value) continue;
    if (member.static) {
      staticParts.push([text.lastIndexOf("=", at(member.value.start)), at(member.value.end)]);
    } else if (!INERT_INITIALIZERS.has(member.value.type)) {
      fieldInitializers.push([at(member.value.start), at(member.value.end)]);
    }
  }
  return {
    heritage: node.superClass ? [at(node.superClass.start), at(node.superClass.end)] : null,
    nameRange: node.id ? [at(node.id.start), at(node.id.end)] : null,
    staticParts,
    fieldInitializers,
    privateFields,
    privateStaticFields,
    hasPrivateNames,
    hasInstancePrivates,
    methods,
    constructorBodyStart,
    bodyEnd: at(node.body.end) - 1,
    namesUsedByDefinition: namesUsedByDefinition(analysis),
  };
}
function namesUsedByDefinition(analysis) {
  const names = new Set();
  for (const { name, scope } of analysis.references) {
    if (!scope.nearest("function", "arrow", "member") && !scope.declaring(name)) names.add(name);
  }
  return names;
}
//# sourceMappingURL=parse-text.js.map
