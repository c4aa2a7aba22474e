/**
 * A league of tic-tac-toe players. One policy learns against earlier copies of itself, which come and go while it trains.
 *
 *     node examples/rl-league.ts [runners]
 *
 * A copy joins the league when the learner wins most games. Each game draws its opponent among the copies, so the learner does not forget
 * how to beat old ones. The callback runs after each iteration, between two calls that sample.
 */
import { shutdown } from "shoal";
import { type Algorithm, makeMultiAgentEnv, type PolicyMappingFn, PPOConfig } from "shoal/rl";
import { Random } from "shoal/tensor";

const ITERATIONS = 30;
const COPIES_MAX = 4;
/** A copy joins when the learner earns this more than its opponents do. */
const AHEAD = 0.6;
const GAMES = 200;

const runners = Number(process.argv[2] ?? 0);
if (!Number.isInteger(runners) || runners < 0) {
  console.error(`The number of runners is a whole number from 0: received ${process.argv[2]}`);
  process.exit(2);
}

/** The learner changes sides from game to game. The mapping travels to runners, so it takes all that it needs along. */
function mappingTo(opponents: readonly string[]): PolicyMappingFn {
  return (player, { id, random }) => {
    const isFirst = Number(id.split("-")[1]) % 2 === 0;
    if (isFirst === (player === "player1")) return "main";
    return opponents[Math.floor(random() * opponents.length)] as string;
  };
}

let opponents: readonly string[] = ["beginner"];
let joined = 0;

const config = new PPOConfig()
  .environment("TicTacToe")
  .envRunners({ numEnvRunners: runners, numEnvsPerEnvRunner: 16 })
  .training({ lr: 1e-3, trainBatchSizePerLearner: 4000, minibatchSize: 256, numEpochs: 6, gamma: 0.95, entropyCoeff: 0.02 })
  .rlModule({ modelConfig: { fcnetHiddens: [64, 64], vfShareLayers: false } })
  // The beginner is never trained: it plays nearly at random, as networks do at first.
  .multiAgent({ policies: ["main", "beginner"], policyMappingFn: mappingTo(opponents), policiesToTrain: ["main"] })
  .callbacks({
    onTrainResult: async ({ algorithm, result }) => {
      const { main = 0, ...others } = result.envRunners.moduleEpisodeReturnsMean ?? {};
      const theirs = Object.values(others);
      const ahead = main - theirs.reduce((sum, each) => sum + each, 0) / theirs.length;
      if (ahead < AHEAD) return;
      joined += 1;
      const [oldest, ...newer] = opponents.filter((id) => id !== "beginner");
      const isFull = newer.length + 1 >= COPIES_MAX && oldest !== undefined;
      const stay = opponents.filter((id) => !isFull || id !== oldest);
      opponents = [...stay, `copy${joined}`];
      await algorithm.addModule(`copy${joined}`, { weightsOf: "main", policyMappingFn: mappingTo(opponents) });
      if (isFull) await algorithm.removeModule(oldest);
    },
  })
  .debugging({ seed: 1 });

{
  await using algorithm = await config.buildAlgo();
  for (let iteration = 1; iteration <= ITERATIONS; iteration += 1) {
    const { envRunners } = await algorithm.train();
    if (iteration % 15 === 0) console.log(`after ${envRunners.numEpisodesLifetime} games the league has ${opponents.join(", ")}`);
  }
  const won = await winsAtRandom(algorithm);
  console.log(`won 75 % of ${GAMES} games against a random player: ${won >= 0.75 * GAMES}`);
}
await shutdown();

/** Counts the games that the learner wins against a player who chooses any free field. The first player is drawn. */
async function winsAtRandom(algorithm: Algorithm): Promise<number> {
  const game = await makeMultiAgentEnv("TicTacToe");
  const random = new Random(1);
  let won = 0;
  for (let seed = 0; seed < GAMES; seed += 1) {
    let { observations } = await game.reset({ seed });
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
  return won;
}

function freeField(board: Float32Array, random: Random): number {
  const fields = [...board.keys()].filter((field) => board[field] === 0);
  return fields[random.integer(fields.length)] as number;
}
