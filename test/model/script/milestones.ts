/** Situations that the scripts of a run must reach. A test fails if they do not. */
export const MILESTONES = [
  'a breaker opened',
  'a blocked delivery was asked again by itself',
  'the clock was set forward',
  'the clock was set back',
  'the clock was set back while nothing ran',
  'a backup was restored',
  'an older copy was recognised',
  'a person said that it had arrived',
  'a person said that it had not arrived',
  'a person had it sent again',
  'a person ended a write',
  'a process died amid a pull',
  'a process died between a claim and its request',
  'a process died between an answer and its settlement',
  'several requests were claimed in one commit',
  'new products were sent in one import',
  'one new product was sent in an import',
  'several requests were settled in one commit',
  'a claim left out what had changed',
  'a settlement changed nothing, since it was stale',
  'a delivery that cannot be sent was dead-lettered',
] as const;
export type Milestone = (typeof MILESTONES)[number];

export interface Milestones {
  reach(milestone: Milestone): void;
  /** How often each was reached so far. */
  counts(): ReadonlyMap<Milestone, number>;
}

export function createMilestones(): Milestones {
  const counts = new Map<Milestone, number>(MILESTONES.map((milestone) => [milestone, 0]));
  return {
    reach: (milestone) => void counts.set(milestone, (counts.get(milestone) ?? 0) + 1),
    counts: () => counts,
  };
}
