/** The roles of the people who use the dashboard. Each role may do all that the role before it may. */
export const WEB_ROLES = ['viewer', 'editor', 'operator'] as const;
/** viewer: looks. editor: notes, owners, lookup values, uploads, replays. operator: also runs, guards, passports, settling, queues, settings. */
export type WebRole = (typeof WEB_ROLES)[number];
