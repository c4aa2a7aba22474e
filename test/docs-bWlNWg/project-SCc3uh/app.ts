
import * as serve from "shoal/serve";
class Greeter {
  #word: string;
  constructor(word: string) { this.#word = word; }
  fetch() { return this.#word; }
}
export const build = ({ word }: { word: string }) => serve.deployment(Greeter).bind(word);
