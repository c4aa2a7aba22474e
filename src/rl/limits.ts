/** The limits of `shoal/rl`, each with its reason. */

/** Steps of each environment whose observations are checked against the space. A mistake shows in the first steps; checks of all steps would cost more than many environments do. */
export const CHECKED_STEPS_MAX = 100;

/** Environments of one runner. Far above any use; a larger number is a slip. */
export const ENVIRONMENTS_MAX = 65_536;
