/** The roles of the people who use the dashboard. Each role may do all that the role before it may. */
export const WEB_ROLES = ['viewer', 'editor', 'operator'] as const;
/** viewer: looks. editor: notes, owners, lookup values, uploads, replays. operator: also runs, guards, passports, settling, queues, settings. */
export type WebRole = (typeof WEB_ROLES)[number];

/** The name in the audit log of a person who uses the token. No user has it. */
export const TOKEN_NAME = 'token';
export const USER_NAME_LENGTH_MAX = 64;
/** The names that users may have. */
export const USER_NAME: RegExp = /^[A-Za-z0-9][A-Za-z0-9._@-]*$/;

export function isUserName(text: string): boolean {
  return text.length <= USER_NAME_LENGTH_MAX && USER_NAME.test(text) && text !== TOKEN_NAME;
}
