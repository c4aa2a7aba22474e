/** A module of the user's that the matrix imports: workers load their own copy. */
export const seven: number = 7;
export const loadedIn: number = process.pid;

export function addSeven(value: number): number {
  return value + seven;
}

export default class Greeter {
  greeting: string = "hello";

  greet(): string {
    return `${this.greeting} from ${loadedIn}`;
  }
}

export let changing: number = 1;

export function change(): void {
  changing += 1;
}

function timesSeven(value: number): number {
  return value * seven;
}

export const operations: { timesSeven: typeof timesSeven; addSeven: typeof addSeven } = { timesSeven, addSeven };

export function makeAdder(amount: number): (value: number) => number {
  return (value) => value + amount + seven;
}

export class Exported {
  readonly tag: string;

  constructor(tag: string) {
    this.tag = tag;
  }

  where(): string {
    return `${this.tag} in ${loadedIn}`;
  }
}

/** Exported, so imported by reference, and with state that only its own text can reach. */
export class Sealed {
  #content: number;

  constructor(content: number) {
    this.#content = content;
  }

  open(): number {
    return this.#content + seven;
  }

  replace(content: number): this {
    this.#content = content;
    return this;
  }
}

const opened = "opened";
const openedBy = `${opened}By` as const;
const openedLabel = `${opened}Label` as const;

interface LabelledState {
  readonly opened: number;
  openedBy(label: string): this;
  readonly openedLabel: string;
}

/** Private state beside members with computed names. */
export const Labelled: new () => LabelledState = class {
  #label = "none";
  [opened] = 1;

  [openedBy](label: string): this {
    this.#label = label;
    return this;
  }

  get [openedLabel](): string {
    return this.#label;
  }
};

/** Assigned by `connect`, like a connection that a module opens when it is first needed. */
export let connection: { readonly url: string; readonly uses: number } | undefined;
let uses = 0;
export function connect(url: string): void {
  uses += 1;
  connection = { url, uses };
}
