/**
 * Makes docs/options.md from the declarations that users see in their editor, so that the page and the types say the same.
 *
 * Reads interfaces of options with their comments. Each property needs a comment; the text behind "Default:" becomes the column of
 * defaults. Pure; called by `test/options-page.test.ts`.
 */

interface Section {
  readonly title: string;
  /** Text between the heading and the table. */
  readonly text: string;
  /** File below `src`, and the interfaces in it, whose properties go into one table. */
  readonly from: readonly (readonly [file: string, name: string])[];
}

const TYPES = "core/types/types.ts";
const REFS = "core/types/ref-types.ts";
const SCHEDULING = "core/options/scheduling-types.ts";
const CLUSTER = "core/types/cluster-types.ts";

const SECTIONS: readonly Section[] = [
  {
    title: "`init(options)`",
    text: "The runtime of this program. A program that calls `.remote()` or `put` first gets all defaults.",
    from: [[TYPES, "InitOptions"]],
  },
  {
    title: "Tasks: `remote(f, options)`, `f.options(options)`",
    text: "`f.options()` returns a copy of the remote function with these options added.",
    from: [
      [TYPES, "ResourceOptions"],
      [SCHEDULING, "SchedulingOptions"],
      [TYPES, "CallOptions"],
      [TYPES, "TaskOptions"],
    ],
  },
  {
    title: "Actors: `remote(C, options)`, `C.options(options)`",
    text: "",
    from: [
      [TYPES, "ResourceOptions"],
      [SCHEDULING, "SchedulingOptions"],
      [TYPES, "ActorOptions"],
    ],
  },
  {
    title: "Methods of actors: `actor.method.options(options)`",
    text: "Also at the class, as `methods: { name: { ... } }`.",
    from: [
      [TYPES, "CallOptions"],
      [TYPES, "MethodOptions"],
    ],
  },
  {
    title: "Runtime environments: `runtimeEnv`",
    text: "An option of `init`, tasks and actors. Variables of a task or actor are added to those of `init`; other options replace them.",
    from: [["runtime/environment/runtime-env.ts", "RuntimeEnvInput"]],
  },
  { title: "`get(refs, options)`, `ready(actor, options)`", text: "", from: [[REFS, "GetOptions"]] },
  { title: "`wait(refs, options)`", text: "Besides `timeoutMs` and `signal`:", from: [[TYPES, "WaitOptions"]] },
  { title: "`cancel(ref, options)`", text: "", from: [[TYPES, "CancelOptions"]] },
  { title: "`kill(actor, options)`", text: "", from: [[TYPES, "KillOptions"]] },
  { title: "`getActor(name, options)`", text: "", from: [[TYPES, "GetActorOptions"]] },
  { title: "`actors(options)`", text: "", from: [[CLUSTER, "ActorsOptions"]] },
  { title: "`placementGroup(bundles, options)`", text: "", from: [[SCHEDULING, "PlacementGroupOptions"]] },
  {
    title: "`requestResources(request)`",
    text: "Asks the autoscaler for room ([autoscaler.md](autoscaler.md)).",
    from: [[SCHEDULING, "ResourceRequest"]],
  },
  {
    title: "`kvPut(key, value, options)`",
    text: "`namespace` is an option of all `kv` functions. Values in a namespace that nobody named end with their program.",
    from: [
      [CLUSTER, "KvOptions"],
      [CLUSTER, "KvPutOptions"],
    ],
  },
];

const INTRODUCTION = `# Options

Every option with its type and default. Times are in milliseconds (\`...Ms\`), sizes in bytes (\`...Bytes\`), amounts of
resources in steps of 0.0001. An unknown name or an invalid value is a \`TypeError\` or \`RangeError\` at the call.
\`undefined\` is the same as leaving the option out.

The page is generated from the declarations in \`src\` (\`npm test -- test/options-page.test.ts -u\`).
`;

/** @param read - gives the text of a file below `src` */
export async function optionsPage(read: (file: string) => Promise<string>): Promise<string> {
  const parts = [INTRODUCTION];
  for (const { title, text, from } of SECTIONS) {
    const rows: string[] = [];
    for (const [file, name] of from) for (const option of optionsOf(await read(file), name)) rows.push(rowOf(option));
    parts.push(`## ${title}\n${text === "" ? "" : `\n${text}\n`}\n| option | type | default | |\n|---|---|---|---|\n${rows.join("\n")}\n`);
  }
  parts.push(ENVIRONMENT);
  return parts.join("\n");
}

const ENVIRONMENT = `## Named types

| type | |
|---|---|
| \`Resources\` | names and amounts: \`{ licence: 1, disk: 0.5 }\` |
| \`SchedulingStrategy\` | \`"default"\`, \`"spread"\`, \`{ nodeId, soft }\` for one node, or \`{ placementGroup, bundleIndex, captureChildTasks }\` |
| \`LabelSelector\` | conditions by label: \`{ region: "in(eu,us)", disk: "!hdd" }\`; \`"v"\`, \`"!v"\`, \`"in(a,b)"\`, \`"!in(a,b)"\` |
| \`FallbackOption\` | \`{ labelSelector }\` |
| \`RetryOn\` | \`true\`, \`false\`, error classes \`[TypeError]\`, or a function of the error |
| \`PlacementStrategy\` | \`"PACK"\`, \`"SPREAD"\`, \`"STRICT_PACK"\`, \`"STRICT_SPREAD"\` |

## Environment variables

| variable | |
|---|---|
| \`SHOAL_ADDRESS\` | the cluster to connect to, as \`init({ address })\` takes it |
| \`SHOAL_NAMESPACE\` | the namespace of actors' names and keys |
| \`SHOAL_ALLOW_OTHER_VERSIONS\` | \`1\`: nodes and programs with other versions of Shoal or Node take part in a cluster |
| \`SHOAL_RUNTIME_ENV\` | the runtime environment of the program, as JSON |
| \`SHOAL_TOKEN\` | the join token, for \`shoal start --address\`; it is not passed on to any other process |
| \`SHOAL_NATIVE=0\` | works without the native part: values are copied instead of mapped |
| \`SHOAL_NATS_BIN\` | the path of the nats-server that heads start |

The options of the command line are printed by \`npx shoal help\` and \`npx shoal help start\`.
`;

interface OptionDeclaration {
  readonly name: string;
  readonly type: string;
  readonly comment: string;
}

/** The properties of an interface. @throws Error for one without a comment, so that none is left out silently. */
function optionsOf(source: string, name: string): OptionDeclaration[] {
  const body = new RegExp(`^(?:export )?interface ${name}\\b[^{]*\\{\\n(?:(?<body>[\\s\\S]*?)\\n)?\\}$`, "m").exec(source)?.groups?.[
    "body"
  ];
  if (body === undefined) throw new Error(`Cannot make the page of options: there is no interface ${name}`);
  const options: OptionDeclaration[] = [];
  for (const member of body.matchAll(
    /(?:\/\*\*(?<comment>(?:(?!\*\/)[\s\S])*)\*\/\n)?^ {2}(?:readonly )?(?<name>\w+)\?: (?<type>[^\n]*);$/gm,
  )) {
    const { comment, name: option = "", type = "" } = member.groups ?? {};
    if (comment === undefined) throw new Error(`Cannot make the page of options: ${name}.${option} has no comment`);
    options.push({ name: option, type: type.replace(/ \| undefined$/, ""), comment: textOf(comment) });
  }
  return options;
}

/** A comment as one line, without its example. */
function textOf(comment: string): string {
  return comment
    .replace(/^ *\* ?/gm, "")
    .replace(/@example[\s\S]*/, "")
    .replace(/\{@link (\w+)\}/g, "`$1`")
    .replace(/\s+/g, " ")
    .trim();
}

function rowOf({ name, type, comment }: OptionDeclaration): string {
  const [, meaning = comment, standard = "–", rest = ""] = /^(.*?)\s*Default: (.*?)(?:\.(?=\s|$)(.*))?$/s.exec(comment) ?? [];
  const cells = [`\`${name}\``, `\`${shortType(name, type)}\``, standard.trim(), `${meaning}${rest === "" ? "" : ` ${rest.trim()}`}`];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

/** Types that infer another type are printed as a user writes them. */
function shortType(name: string, type: string): string {
  if (type === "N") return 'number | "streaming"';
  if (name === "methods") return "Record<string, MethodOptions>";
  return type.replace(/Readonly<Record<(.*)>>/, "Record<$1>").replace(/readonly (\w+\[\])/, "$1");
}
