import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createFindings } from '../../../src/config/checks/findings.ts';
import { parseSettings } from '../../../src/config/parse-settings.ts';
import { problemsOf } from '../../../src/config/problem.ts';
import { secretPathsIn } from '../../../src/config/schema/schema-walk.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import { faultOf, loadText, SOUND_CONFIG } from '../../support/worlds/config-folder.ts';

/** Printable, and with the characters that YAML, URLs and placeholders make something of. */
const secretText = fc
  .string({ unit: fc.constantFrom(...'abcdefXYZ0189_-*&!#%@{}[]:,?$ \'"\\ü'.split('')), minLength: 8, maxLength: 40 })
  .map((text) => `k${text}q`);

const breakages: ((text: string) => string)[] = [
  (text) => text.replace('https', 'http'),
  (text) => text.replace('connector: csv', 'connector: csw'),
  (text) => text.replace('to: product', 'to: nothing'),
  (text) => text.replace('baseUrl:', 'baseURL:'),
  (text) => text.replace('[SKU]', 'SKU'),
  (text) => `quue: x\n${text}`,
  (text) => `queue: "postgres://u:pw@h"\n${text}`,
  (text) => `web: []\n${text}`,
  (text) => `${text}}`,
  (text) => text.replace('apiKey', 'apikey'),
];

/** Every way in which a key gets into the file, well or badly. */
const placements: ((secret: string) => string)[] = [
  (secret) => `  apiKey: ${JSON.stringify(secret)}`,
  (secret) => `  apiKey: ${secret}`,
  (secret) => `  apiKey:${secret}`,
  (secret) => `  apiKey: [${JSON.stringify(secret)}]`,
  (secret) => `  apiKey: { key: ${JSON.stringify(secret)} }`,
  (secret) => `  publishKey: '${secret}'`,
  () => '  apiKey: ${KEY}',
  () => '  apiKey: x${KEY} y',
  () => '  apiKey: ${file:key}',
];

describe('the messages about a config', () => {
  it('the messages about a config never hold a secret, however it and other things in the file are wrong', async () => {
    await fc.assert(
      fc.asyncProperty(
        secretText,
        fc.constantFrom(...placements),
        fc.subarray(breakages, { minLength: 1 }),
        async (secret, placement, broken) => {
          const sound = SOUND_CONFIG.replace(/ {2}apiKey.*/, () => placement(secret));
          const text = broken.reduce((config, change) => change(config), sound);
          const fault = await faultOf(text, { env: { KEY: secret }, files: { key: secret } });
          expect(inspect(fault, { depth: 10 })).not.toContain(secret);
          expect(JSON.stringify([fault.message, fault.suggestion, fault.path, problemsOf(fault)])).not.toContain(
            secret,
          );
        },
      ),
      { numRuns: 400 },
    );
  });

  it('the messages about a config show neither the credentials nor the query of a URL', async () => {
    const text = SOUND_CONFIG.replace('https://', 'https://joe:hunter22@').replace('.com', '.com/?token=abcdef');
    const { message } = await faultOf(`queue: postgres://u:pa/ss@h/db\n${text}`);
    expect(message).not.toMatch(/hunter22|abcdef|ss@/);
    expect(message).toContain('target.baseUrl');
  });

  it('the messages about a config shorten a key that stands where no key belongs', async () => {
    const { message } = await faultOf(SOUND_CONFIG.replace('connector: csv', 'connector: dpp_9876543210fedcba'));
    expect(message).toContain('dpp_9876…');
    expect(message).not.toContain('dpp_98765');
  });
});

describe('a secret of a config that loads', () => {
  it('a secret of a config that loads is in no object of the config, and scrubbed from every log line', async () => {
    const secrets = createSecretStore();
    const text = `queue: rediss://u:p%40ssw0rd@h\nweb: { token: web-token-0123456789 }\n${SOUND_CONFIG}`;
    const config = await loadText(text, { secrets });
    expect(inspect({ ...config, queue: null }, { depth: 10 })).not.toMatch(/dpp_0123456789abcdef|web-token-0123456789/);
    expect(secrets.scrub('dpp_0123456789abcdef web-token-0123456789 p%40ssw0rd p@ssw0rd')).toBe(
      'dpp_0123… web-toke… … …',
    );
  });

  it('a secret of a config that loads is known from the schema of a connector too', () => {
    const secrets = createSecretStore();
    const value = { auth: { password: 'hunter2hunter2' }, size: 'hunter2hunter2' };
    const document = { value, lineOf: () => null };
    const findings = createFindings({ document, value, templates: new Map(), secrets });
    const password = z.string().max(3).meta({ secret: true });
    const schema = z.strictObject({ auth: z.strictObject({ password }).optional(), size: z.number() });
    parseSettings(schema, value, { path: [], findings, isExpanded: () => false });
    expect(findings.problems.map(({ message }) => message)).toEqual([
      'found a value that is not shown, expected at most 3 characters',
      'found "hunter2h…", expected a number',
    ]);
    expect(secrets.scrub('hunter2hunter2')).toBe('hunter2h…');
  });
});

describe('a mark of a schema is found', () => {
  const secret = z.string().meta({ secret: true });

  it.each<[string, z.ZodType]>([
    ['on the schema itself', secret],
    ['below optional, nullable and readonly', secret.optional().nullable().readonly()],
    ['below a default', secret.default('x')],
    ['below prefault and catch', secret.prefault('x').catch('y')],
    ['in a union', z.union([z.number(), secret])],
    ['in an intersection', z.intersection(z.unknown(), secret)],
    ['before a transformation', secret.transform(Number)],
    ['behind a transformation', z.preprocess(String, secret)],
    ['in a schema that is made later', z.lazy(() => secret)],
    ['and kept by a later check', secret.refine(() => true).min(3)],
  ])('the mark of a secret in a schema is found %s', (_, schema) => {
    expect(secretPathsIn(schema, 'hunter2')).toEqual([[]]);
    expect(secretPathsIn(z.object({ a: schema }).loose(), { b: 1, a: 'hunter2' })).toEqual([['a']]);
    expect(secretPathsIn(z.object({}).catchall(schema), { a: 'hunter2' })).toEqual([['a']]);
    expect(secretPathsIn(z.record(z.string(), schema), { a: 'hunter2' })).toEqual([['a']]);
    expect(secretPathsIn(z.array(schema), ['hunter2', { x: 1 }])).toEqual([[0], [1]]);
    expect(secretPathsIn(z.tuple([z.number(), schema]), [1, 'hunter2'])).toEqual([[1]]);
    expect(secretPathsIn(z.tuple([z.number()], schema), [1, 'hunter2'])).toEqual([[1]]);
  });

  it('a mark of a schema is found in no other place', () => {
    const schema = z.object({ a: secret, b: z.array(z.object({ c: secret.optional(), d: z.string() })) });
    const value = { a: undefined, b: [{ d: 'shown' }, { c: ['any', 'value'], d: 'shown' }], e: 'unknown' };
    expect(secretPathsIn(schema, value)).toEqual([['b', 1, 'c']]);
  });
});
