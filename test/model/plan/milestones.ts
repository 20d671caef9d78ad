/** Situations that the scripts of plans must reach. A test fails if they do not. */
export const PLAN_MILESTONES = [
  'create',
  'create_or_adopt',
  'update',
  'prepare',
  'publish',
  'unpublish',
  'differs',
  'planned as waiting',
  'planned as blocked',
  'planned as in_doubt',
  'an item was adopted',
  'a source could not be read',
  'a sync was stopped',
  'a ledger was restored',
  'a stale plan was refused',
  'a row changed while a plan was applied',
  'a write was due in its former form when a plan was applied',
  'a process was killed while it applied a plan',
] as const;
export type PlanMilestone = (typeof PLAN_MILESTONES)[number];
export type Reach = (milestone: PlanMilestone) => void;
