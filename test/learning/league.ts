/**
 * A league of tic-tac-toe: a policy learns against frozen copies of itself, which callbacks add and remove.
 *
 * The number that counts is the percentage of games that it wins against a player who chooses any free field. Draws are no wins.
 */
import { type Algorithm, type AlgorithmHandle, type EvaluationResult, makeMultiAgentEnv, type PolicyMappingFn, PPOConfig } from "shoal/rl";
import { Random } from "shoal/tensor";

const COPIES_MAX = 8;
/** A copy joins when the learner earns this more than its opponents do. */
const AHEAD = 0.6;
const GAMES = 400;

/** The learner changes sides from game to game. */
function mappingTo(opponents: readonly string[]): PolicyMappingFn {
  return (player, { id, random }) => {
    const isFirst = Number(id.split("-")[1]) % 2 === 0;
    if (isFirst === (player === "player1")) return "main";
    return opponents[Math.floor(random() * opponents.length)] as string;
  };
}

export async function ticTacToeLeague(seed: number): Promise<Algorithm> {
  let opponents: readonly string[] = ["beginner"];
  let joined = 0;
  const admit = async (algorithm: AlgorithmHandle): Promise<void> => {
    joined += 1;
    const [oldest, ...newer] = opponents.filter((id) => id !== "beginner");
    const leaves = newer.length + 1 >= COPIES_MAX ? oldest : undefined;
    opponents = [...opponents.filter((id) => id !== leaves), `copy${joined}`];
    await algorithm.addModule(`copy${joined}`, { weightsOf: "main", policyMappingFn: mappingTo(opponents) });
    if (leaves !== undefined) await algorithm.removeModule(leaves);
  };
  return await new PPOConfig()
    .environment("TicTacToe")
    .envRunners({ numEnvsPerEnvRunner: 16 })
    .training({ lr: 1e-3, trainBatchSizePerLearner: 4000, minibatchSize: 256, numEpochs: 6, gamma: 0.95, entropyCoeff: 0.02 })
    .rlModule({ modelConfig: { fcnetHiddens: [64, 64], vfShareLayers: false } })
    .multiAgent({ policies: ["main", "beginner"], policyMappingFn: mappingTo(opponents), policiesToTrain: ["main"] })
    .callbacks({
      onTrainResult: async ({ algorithm, result }) => {
        Object.assign(result.envRunners, { wins: await winsAtRandom(algorithm as Algorithm) });
        const { main = 0, ...others } = result.envRunners.moduleEpisodeReturnsMean ?? {};
        const theirs = Object.values(others);
        if (main - theirs.reduce((sum, each) => sum + each, 0) / theirs.length >= AHEAD) await admit(algorithm);
      },
    })
    .evaluation({
      customEvaluationFunction: async ({ algorithm }) => ({
        envRunners: { numEpisodes: GAMES, numEnvStepsSampled: 0, wins: await winsAtRandom(algorithm as Algorithm, 2) },
      }),
    })
    .debugging({ seed })
    .buildAlgo();
}

/** The percentage of wins in a result. */
export function winsOf({ wins }: EvaluationResult["envRunners"] & { readonly wins?: unknown }): number | undefined {
  return typeof wins === "number" ? wins : undefined;
}

async function winsAtRandom(algorithm: Algorithm, seed = 1): Promise<number> {
  const game = await makeMultiAgentEnv("TicTacToe");
  const random = new Random(seed);
  let won = 0;
  for (let played = 0; played < GAMES; played += 1) {
    let { observations } = await game.reset({ seed: seed * GAMES + played });
    for (let isOver = false; !isOver; ) {
      const board = observations["player1"] as Float32Array | undefined;
      const step = await game.step(
        board === undefined
          ? { player2: freeField(observations["player2"] as Float32Array, random) }
          : { player1: algorithm.computeAction<number>(board, { moduleId: "main" }) },
      );
      isOver = step.terminateds["__all__"] === true || step.truncateds?.["__all__"] === true;
      if (step.rewards["player1"] === 1) won += 1;
      ({ observations } = step);
    }
  }
  return (100 * won) / GAMES;
}

function freeField(board: Float32Array, random: Random): number {
  const fields = [...board.keys()].filter((field) => board[field] === 0);
  return fields[random.integer(fields.length)] as number;
}
