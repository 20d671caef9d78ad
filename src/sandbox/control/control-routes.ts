import { z } from 'zod';
import { type IssuedKey, KeyRequest, type KeyStore } from '../access/keys.ts';
import { SessionRequest } from '../access/sessions.ts';
import { FaultRule, type Faults } from '../faults/faults.ts';
import { Label } from '../items/fields.ts';
import type { ResourceId } from '../items/ids.ts';
import { type ImportOptions, ImportSettings } from '../settings/import-settings.ts';
import { Lies, RateLimit } from '../settings/settings.ts';
import { type OrganizationStore, PLANS, type Plan } from '../storage/organizations.ts';
import { parseControl } from './control-problems.ts';
import type { Inspection } from './inspection.ts';

/** The parts of the sandbox that the control endpoint shows and changes. */
export interface ControlParts {
  faults: Faults;
  inspection: Inspection;
  organizations: Pick<OrganizationStore, 'list'>;
  keys: Pick<KeyStore, 'list'>;
  approve(organization: string, sku: string): boolean;
  setPlan(organization: string, plan: Plan): void;
  setRateLimit(limit: RateLimit): void;
  setImport(options: ImportOptions): void;
  setLies(lies: Lies): void;
  issueKey(request: KeyRequest): IssuedKey;
  ensureKey(request: KeyRequest & { key: string }): IssuedKey;
  revokeKey(id: ResourceId): boolean;
  openSession(request: SessionRequest): string;
}

export interface ControlAnswer {
  status: number;
  body: unknown;
}

/** A route. It gets the body, which is undefined if there was none. */
export type ControlRoute = (body: unknown) => ControlAnswer;

const Approval = z.strictObject({ organization: Label, sku: z.string().min(1) });
const Organization = z.strictObject({ name: Label, plan: z.enum(PLANS).default('enterprise') });
const Key = KeyRequest.extend({ key: z.string().optional() });
const Revocation = z.strictObject({ id: z.union([z.int(), z.string()], 'Expected the id of a key.') });

/**
 * The routes by method and path. A route that changes something requires a body. So a web page cannot use it unless the
 * browser has first asked this server for permission.
 *
 * @throws ZodError from a route whose body is wrong, Fault from a route that cannot fulfil the request
 */
export function createControlRoutes(parts: ControlParts): Record<string, ControlRoute> {
  const { faults, inspection, organizations, keys } = parts;
  const addAll = (body: unknown): void => {
    for (const rule of parseControl(z.array(FaultRule), Array.isArray(body) ? body : [body])) faults.add(rule);
  };
  const showFaults = (): ControlAnswer => done({ faults: faults.list(), unused: faults.unused() });

  return {
    'GET /faults': showFaults,
    'PUT /faults': (body) => {
      const rules = parseControl(z.array(FaultRule), body);
      faults.clear();
      addAll(rules);
      return showFaults();
    },
    'POST /faults': (body) => {
      addAll(body);
      return showFaults();
    },
    'DELETE /faults': () => {
      faults.clear();
      return showFaults();
    },
    'GET /stats': () => done(inspection.statistics()),
    'GET /inspect': () => done(inspection.snapshot()),
    'POST /reviews': (body) => {
      const { organization, sku } = parseControl(Approval, body);
      return parts.approve(organization, sku) ? done({}) : problem(404, 'There is no such passport.');
    },
    'GET /organizations': () => done({ organizations: organizations.list().map(({ name, plan }) => ({ name, plan })) }),
    'POST /organizations': (body) => {
      const organization = parseControl(Organization, body);
      parts.setPlan(organization.name, organization.plan);
      return done(organization);
    },
    'GET /keys': () => done({ keys: keys.list() }),
    'POST /keys': (body) => {
      const { key, ...request } = parseControl(Key, body);
      return done(key === undefined ? parts.issueKey(request) : parts.ensureKey({ ...request, key }));
    },
    'POST /revocations': (body) => {
      return parts.revokeKey(parseControl(Revocation, body).id) ? done({}) : problem(404, 'There is no such key.');
    },
    'POST /tokens': (body) => done({ token: parts.openSession(parseControl(SessionRequest, body)) }),
    'PUT /rate-limit': (body) => {
      const limit = parseControl(RateLimit, body);
      parts.setRateLimit(limit);
      return done(limit);
    },
    'PUT /import': (body) => {
      const settings = parseControl(ImportSettings, body);
      parts.setImport(settings);
      return done(settings);
    },
    'PUT /lies': (body) => {
      const lies = parseControl(Lies, body);
      parts.setLies(lies);
      return done({ lies });
    },
  };
}

function done(body: unknown): ControlAnswer {
  return { status: 200, body };
}

/** A refusal with a message. */
export function problem(status: number, detail: string): ControlAnswer {
  return { status, body: { detail } };
}
