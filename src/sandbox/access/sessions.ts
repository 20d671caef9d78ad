import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Database } from 'better-sqlite3';
import { z } from 'zod';
import { err, ok, type Result } from '../../lib/result.ts';
import { Label } from '../items/fields.ts';
import type { OrganizationStore, Plan } from '../storage/organizations.ts';

/** The role of a person in an organisation. Owners and administrators manage its API keys. */
export const ROLES = ['owner', 'administrator', 'member'] as const;
export type Role = (typeof ROLES)[number];

/** The user to be signed in. If needed, the user is created or gets this role. */
export const SessionRequest = z.strictObject({
  organization: Label.describe(
    'The name of the workspace. If no workspace has this name, the sandbox creates one with the enterprise plan.',
  ),
  email: Label.describe('The email address with which the user signs in.'),
  role: z.enum(ROLES).describe('The role of the user in the organisation.'),
  lifetimeMs: z.int().min(1).default(3_600_000).describe('How long the token works, in milliseconds.'),
});
export type SessionRequest = z.input<typeof SessionRequest>;

/** The user of a token, with the user's present role and not the role at the time of the login. */
interface SessionUser {
  userId: number;
  organizationId: number;
  role: Role;
  plan: Plan;
}

const Claims = z.object({ sub: z.string(), exp: z.number() });

/** The one header that is accepted: a token that names another algorithm, or none, is not read further (RFC 8725). */
const HEADER = encode({ alg: 'HS256', typ: 'JWT' });

/**
 * The store of session tokens, which the document calls an administrator's JWT. The signature alone shows that this
 * sandbox has made a token.
 */
export function createSessionStore(database: Database, organizations: OrganizationStore) {
  // The secret is kept with the data, so that tokens survive a restart on the same file.
  database
    .prepare(`INSERT INTO setting (name, value) VALUES ('session_secret', ?) ON CONFLICT (name) DO NOTHING`)
    .run(randomBytes(32).toString('base64url'));
  const secret = String(database.prepare(`SELECT value FROM setting WHERE name = 'session_secret'`).pluck().get());
  const ensureUser = database
    .prepare<[number, string, string, number], number>(
      `INSERT INTO user (organization_id, email, role, created_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (organization_id, email) DO UPDATE SET role = excluded.role RETURNING id`,
    )
    .pluck();
  const find = database.prepare<[number], SessionUser>(
    `SELECT u.id AS userId, u.organization_id AS organizationId, u.role, o.plan
     FROM user u JOIN organization o ON o.id = u.organization_id WHERE u.id = ?`,
  );
  // The text of the signature is compared and not its bytes, because some bits of the last character are not part of
  // the bytes.
  const sign = (text: string): string => createHmac('sha256', secret).update(text).digest('base64url');

  return {
    /** A token for `Authorization: Bearer`; the token is not stored. */
    open(request: SessionRequest, now: number): string {
      const { organization, email, role, lifetimeMs } = SessionRequest.parse(request);
      const userId = ensureUser.get(organizations.ensure(organization), email, role, now);
      const claims = { sub: String(userId), iat: Math.floor(now / 1000), exp: (now + lifetimeMs) / 1000 };
      const signed = `${HEADER}.${encode(claims)}`;
      return `${signed}.${sign(signed)}`;
    },
    verify(token: string, now: number): Result<SessionUser, 'invalid' | 'expired'> {
      const [header, payload = '', signature = '', ...rest] = token.split('.');
      if (header !== HEADER || rest.length > 0) return err('invalid');
      const expected = Buffer.from(sign(`${header}.${payload}`));
      const given = Buffer.from(signature);
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return err('invalid');
      const claims = Claims.parse(JSON.parse(Buffer.from(payload, 'base64url').toString()));
      if (now >= claims.exp * 1000) return err('expired');
      const user = find.get(Number(claims.sub));
      return user ? ok(user) : err('invalid');
    },
  };
}

export type SessionStore = ReturnType<typeof createSessionStore>;

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
