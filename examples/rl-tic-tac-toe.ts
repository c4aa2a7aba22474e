/**
 * Learns tic-tac-toe by self-play. A policy plays against an earlier copy of itself, then against a random player. A taken field costs half
 * a point and the turn, so the policy learns the rules as well. Without runners, which is the default, this process does everything.
 *
 *     node examples/rl-tic-tac-toe.ts [runners]
 */
import { shutdown } from "shoal";
import { type Algorithm, makeMultiAgentEnv, PPOConfig } from "shoal/rl";
import { Random } from "shoal/tensor";

const ITERATIONS = 30;
/** The earlier copy is renewed when the learner earns this more than it does. */
const AHEAD = 0.2;
const GAMES = 200;

const runners = Number(process.argv[2] ?? 0);
if (!Number.isInteger(runners) || runners < 0) {
  console.error(`The number of runners is a whole number from 0: received ${process.argv[2]}`);
  process.exit(2);
}

const config = new PPOConfig()
  .environment("TicTacToe")
  .envRunners({ numEnvRunners: runners, numEnvsPerEnvRunner: 16 })
  .training({ lr: 1e-3, trainBatchSizePerLearner: 4000, minibatchSize: 256, numEpochs: 6, gamma: 0.95, entropyCoeff: 0.02 })
  .rlModule({ modelConfig: { fcnetHiddens: [64, 64], vfShareLayers: false } })
  .multiAgent({
    // The beginner is never trained: it plays nearly at random, as networks do at first.
    policies: ["learner", "earlier", "beginner"],
    policyMappingFn: (player, { id }) => {
      // The learner changes sides from game to game, and the opponent with every second game.
      const number = Number(id.split("-")[1]);
      if ((number % 2 === 0) === (player === "player1")) return "learner";
      return number % 4 < 2 ? "earlier" : "beginner";
    },
    policiesToTrain: ["learner"],
  })
  .debugging({ seed: 1 });

{
  await using algorithm = await config.buildAlgo();
  let copies = 0;
  for (let iteration = 1; iteration <= ITERATIONS; iteration += 1) {
    const { envRunners } = await algorithm.train();
    const { learner = 0, earlier = 0 } = envRunners.moduleEpisodeReturnsMean ?? {};
    if (iteration % 10 === 0) {
      const games = envRunners.numEpisodesLifetime;
      console.log(`after ${games} games: learner ${learner.toFixed(2)}, earlier copy ${earlier.toFixed(2)}, copied ${copies} times`);
    }
    if (learner - earlier < AHEAD) continue;
    algorithm.setWeights({ earlier: algorithm.getWeights(["learner"])["learner"] as Float32Array });
    copies += 1;
  }
  const { won, taken, moves } = await playAtRandom(algorithm);
  console.log(`won more than 75 % of ${GAMES} games against a random player: ${won > 0.75 * GAMES}`);
  console.log(`chose taken fields in less than 10 % of the moves: ${taken < 0.1 * moves}`);
}
await shutdown();

/** Plays against a player who chooses any free field. The learner is player1. */
async function playAtRandom(algorithm: Algorithm): Promise<{ won: number; taken: number; moves: number }> {
  const game = await makeMultiAgentEnv("TicTacToe");
  const random = new Random(1);
  const counts = { won: 0, taken: 0, moves: 0 };
  for (let seed = 0; seed < GAMES; seed += 1) {
    let { observations } = await game.reset({ seed });
    for (let isOver = false; !isOver; ) {
      const board = observations["player1"] as Float32Array | undefined;
      const action =
        board === undefined
          ? free(observations["player2"] as Float32Array, random)
          : algorithm.computeAction<number>(board, { moduleId: "learner" });
      if (board !== undefined) counts.moves += 1;
      if (board !== undefined && board[action] !== 0) counts.taken += 1;
      const step = await game.step({ [board === undefined ? "player2" : "player1"]: action });
      isOver = step.terminateds["__all__"] === true || step.truncateds?.["__all__"] === true;
      if (step.rewards["player1"] === 1) counts.won += 1;
      ({ observations } = step);
    }
  }
  return counts;
}

function free(board: Float32Array, random: Random): number {
  const fields = [...board.keys()].filter((field) => board[field] === 0);
  return fields[random.integer(fields.length)] as number;
}
