import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Database } from 'better-sqlite3';
import { z } from 'zod';
import { err, type Fault, ok, type Result } from '../../lib/errors.ts';
import { sha256Hex } from '../../lib/hash.ts';
import { SCOPES, type Scope } from '../api/endpoints.ts';
import type { IdScheme, ResourceId } from '../items/collection.ts';
import { Label } from '../items/fields.ts';
import { sandboxFault } from '../storage/sandbox-faults.ts';
import type { OrganizationStore, Plan } from '../storage/storage.ts';

/** The last time that the API can show, because an ISO 8601 date has four digits for the year. */
const LAST_INSTANT = Date.UTC(10_000, 0) - 1;

/** The properties of a new key. */
export const KeyRequest = z.strictObject({
  organization: Label.describe(
    'The name of the workspace. If no workspace has this name, the sandbox creates one with the enterprise plan.',
  ),
  name: Label.describe('What the key is called in the administrator panel.'),
  scopes: z.array(z.enum(SCOPES)).describe('What the key may do.'),
  expiresAt: z
    .int()
    .min(0)
    .max(LAST_INSTANT)
    .optional()
    .describe('When the key stops working, in milliseconds since the Unix epoch; up to the end of the year 9999.'),
});
export type KeyRequest = z.infer<typeof KeyRequest>;

const PlainKey = z.string().regex(/^dpp_[A-Za-z0-9_-]{16,200}$/);

/** A key at its creation, the only time that its full value is shown. */
export interface IssuedKey {
  id: ResourceId;
  key: string;
}

/** A stored key. The sandbox only knows its hash and prefix. */
interface StoredKey {
  /** A name that no other key and no user has. */
  name: string;
  organizationId: number;
  scopes: Scope[];
  plan: Plan;
  expiresAt: number | null;
  revokedAt: number | null;
}

/** The parts of a key that may be shown. */
export interface KeyRecord {
  id: ResourceId;
  organization: string;
  name: string;
  /** The first 8 characters. */
  prefix: string;
  scopes: Scope[];
  expiresAt: number | null;
  revokedAt: number | null;
}

interface KeyRow {
  id: number;
  uuid: string | null;
  organization_id: number;
  organization: string;
  plan: Plan;
  name: string;
  prefix: string;
  scopes: string;
  expires_at: number | null;
  revoked_at: number | null;
}

/** The API keys of all organisations. Of a key only the SHA-256 is stored: 256 random bits need no slower hash. */
export function createKeyStore(database: Database, organizations: OrganizationStore, ids: IdScheme) {
  const insert = database.prepare(
    `INSERT INTO api_key (uuid, organization_id, name, prefix, hash, scopes, expires_at, created_at)
     VALUES (:uuid, :organizationId, :name, :prefix, :hash, :scopes, :expiresAt, :now)`,
  );
  const update = database.prepare(
    'UPDATE api_key SET name = :name, scopes = :scopes, expires_at = :expiresAt WHERE id = :id',
  );
  const revoke = database.prepare(`UPDATE api_key SET revoked_at = coalesce(revoked_at, ?) WHERE ${ids.column} = ?`);
  const select = `SELECT k.id, k.uuid, k.organization_id, o.name AS organization, o.plan, k.name, k.prefix, k.scopes,
    k.expires_at, k.revoked_at FROM api_key k JOIN organization o ON o.id = k.organization_id`;
  const find = database.prepare<[string], KeyRow>(`${select} WHERE k.hash = ?`);
  const findWithin = database.prepare<[number, ResourceId], KeyRow>(
    `${select} WHERE k.organization_id = ? AND k.${ids.column} = ?`,
  );
  const list = database.prepare<[], KeyRow>(`${select} ORDER BY k.id`);

  // The keys that were found, by their text. Every request looks up its key, and computing the hash takes longer than
  // all other checks of the request. Only keys that exist are kept, and every change empties the map.
  const found = new Map<string, StoredKey>();

  const shownId = (row: Pick<KeyRow, 'id' | 'uuid'>): ResourceId => (ids.column === 'id' ? row.id : (row.uuid ?? ''));
  const recordOf = (row: KeyRow): KeyRecord => ({
    id: shownId(row),
    organization: row.organization,
    name: row.name,
    prefix: row.prefix,
    scopes: JSON.parse(row.scopes) as Scope[],
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  });
  const add = (request: KeyRequest, key: string, now: number): IssuedKey => {
    const uuid = ids.freshUuid();
    const { lastInsertRowid } = insert.run({
      uuid,
      organizationId: organizations.ensure(request.organization),
      name: request.name,
      prefix: key.slice(0, 8),
      hash: sha256Hex(key),
      scopes: JSON.stringify(request.scopes),
      expiresAt: request.expiresAt ?? null,
      now,
    });
    return { id: shownId({ id: Number(lastInsertRowid), uuid }), key };
  };

  const issue = database.transaction((request: KeyRequest, now: number) =>
    add(KeyRequest.parse(request), `dpp_${randomBytes(32).toString('base64url')}`, now),
  );
  const ensure = database.transaction(({ key, ...rest }: KeyRequest & { key: string }, now: number): IssuedKey => {
    const request = KeyRequest.parse(rest);
    if (!PlainKey.safeParse(key).success) {
      throw keyFault('A key is dpp_ and 16 to 200 characters of A-Z, a-z, 0-9, _ and -.');
    }
    const known = find.get(sha256Hex(key));
    if (!known) return add(request, key, now);
    if (known.organization !== request.organization) {
      throw keyFault(`The key ${known.prefix}… belongs to the organisation "${known.organization}".`);
    }
    const { name, scopes, expiresAt = null } = request;
    update.run({ id: known.id, name, scopes: JSON.stringify(scopes), expiresAt });
    return { id: shownId(known), key };
  });

  return {
    issue: (request: KeyRequest, now: number): IssuedKey => issue.immediate(request, now),
    /**
     * Makes sure that a key which the caller has chosen is known, with this name, these scopes and this expiry. A known
     * key keeps its id, and a revoked key stays revoked.
     *
     * @throws Fault when the key is malformed or belongs to another organisation.
     */
    ensure(request: KeyRequest & { key: string }, now: number): IssuedKey {
      found.clear();
      return ensure.immediate(request, now);
    },
    /** Revokes a key; false if there is no such key. A second revocation does not change the time of the first one. */
    revoke(id: ResourceId, now: number): boolean {
      found.clear();
      return revoke.run(now, id).changes > 0;
    },
    /**
     * Revokes a key within one organisation, and returns the revoked key; undefined when the organisation has no such
     * key.
     */
    revokeWithin(organizationId: number, id: ResourceId, now: number): KeyRecord | undefined {
      if (!findWithin.get(organizationId, id)) return undefined;
      found.clear();
      revoke.run(now, id);
      const row = findWithin.get(organizationId, id);
      return row && recordOf(row);
    },
    find(key: string): StoredKey | undefined {
      const kept = found.get(key);
      if (kept) return kept;
      const row = find.get(sha256Hex(key));
      if (!row) return undefined;
      const stored: StoredKey = {
        name: `key ${row.id}`,
        organizationId: row.organization_id,
        scopes: JSON.parse(row.scopes) as Scope[],
        plan: row.plan,
        expiresAt: row.expires_at,
        revokedAt: row.revoked_at,
      };
      found.set(key, stored);
      return stored;
    },
    /** Reads the keys again from the storage. Call it after a change of an organisation. */
    forget: (): void => found.clear(),
    list: (): KeyRecord[] => list.all().map(recordOf),
  };
}

export type KeyStore = ReturnType<typeof createKeyStore>;

function keyFault(message: string): Fault {
  return sandboxFault('sandbox.key', message, { suggestion: 'Choose another key, or let the sandbox issue one.' });
}

/** The role of a person in an organisation. Owners and administrators manage its API keys. */
const ROLES = ['owner', 'administrator', 'member'] as const;
type Role = (typeof ROLES)[number];

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
