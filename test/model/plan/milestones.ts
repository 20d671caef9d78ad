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
  'a tombstone took a product away',
  'the log had forgotten where it was read',
  'a sync was stopped',
  'a ledger was restored',
  'a stale plan was refused',
  'a row changed while a plan was applied',
  'a write was due in its former form when a plan was applied',
  'a process was killed while it applied a plan',
] as const;
export type PlanMilestone = (typeof PLAN_MILESTONES)[number];
export type Reach = (milestone: PlanMilestone) => void;

/** Situations that the scripts of approvals must reach. */
export const APPROVAL_MILESTONES = [
  'a run within its bounds',
  'a run that is held',
  'a run that exceeds the bounds of another source',
  'a run that is refused',
  'a run that is approved',
  'a run that exceeds its approval',
  'an approved run with a later change',
  'a process was killed amid an approved run',
] as const;
export type ApprovalReach = (milestone: (typeof APPROVAL_MILESTONES)[number]) => void;
