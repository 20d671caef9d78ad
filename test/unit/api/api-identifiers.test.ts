import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createCleanText } from '../../../src/api/answers/answer-text.ts';
import { createClassifier } from '../../../src/api/answers/classify.ts';
import { isIdText, remoteIdIn, urlAt } from '../../../src/api/answers/entry.ts';
import { publicationShape } from '../../../src/api/reader.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';

const HEX_KEY = '4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c';
const SECRETS = [HEX_KEY, 'db-secret-20261128-of-some-length', '20261128'];

function cleaner() {
  const secrets = createSecretStore();
  const [key = '', ...others] = SECRETS;
  secrets.add(key, 'api_key');
  for (const other of others) secrets.add(other);
  return { secrets, clean: createCleanText(secrets) };
}

/** UUIDs that any run of the test has. */
function uuid(seed: number): string {
  const hex = createHash('sha256').update(String(seed)).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}

describe('an id', () => {
  const { clean } = cleaner();

  it('an id is no secret because it shares some characters with one: 100,000 UUIDs under a hexadecimal key', () => {
    const ids = Array.from({ length: 100_000 }, (_, seed) => uuid(seed));
    const many = cleaner();
    for (let rotation = 0; rotation < 30; rotation += 1)
      many.secrets.add(uuid(-1 - rotation).replaceAll('-', ''), 'api_key');
    const shared = ids.filter((id) => many.secrets.scrub(id) !== id);
    expect(shared.length, 'some of the UUIDs share characters with a key').toBeGreaterThan(10);
    expect(ids.filter((id) => remoteIdIn({ id }, { idPaths: ['id'] }, many.clean) !== id)).toEqual([]);
    expect(ids.filter((id) => remoteIdIn({ id }, { idPaths: ['id'] }, clean) !== id)).toEqual([]);
  });

  it.each(Array.from({ length: 10 }, (_, index) => index + 6))(
    'an id that shares %s characters in a row with the key is an id, wherever they are in the key',
    (length) => {
      for (let from = 0; from + length <= HEX_KEY.length; from += 1) {
        const id = `00-${HEX_KEY.slice(from, from + length)}-zz`;
        expect(remoteIdIn({ id }, { idPaths: ['id'] }, clean)).toBe(id);
      }
    },
  );

  it.each(['dpp_12345', 'dpp_0123456789abcdef', '20261128-001', '20261128', 'DPP_passport_2026'])(
    'an id may look like a key or contain a short secret that is no key: %s',
    (id) => {
      expect(isIdText(id, clean)).toBe(true);
    },
  );

  it('an id that contains the key, or 16 characters of a secret, is refused', () => {
    const short = createSecretStore();
    short.add('dpp_shortkey', 'api_key');
    expect(isIdText('x-dpp_shortkey-1', createCleanText(short))).toBe(false);
    for (const secret of SECRETS.slice(0, 2)) {
      for (let from = 0; from + 16 <= secret.length; from += 1) {
        expect(isIdText(`a-${secret.slice(from, from + 16)}-b`, clean), String(from)).toBe(false);
      }
    }
  });

  it('the message about a refused id says why, and has nothing of the secret', () => {
    const classifier = createClassifier({ clean, now: () => 0, unprocessed: [] });
    const exchange = {
      kind: 'answer',
      status: 201,
      headers: {},
      body: JSON.stringify({ id: `item-${HEX_KEY}` }),
      cut: null,
    } as const;
    const outcome = classifier.outcomeOf(exchange, { needsId: true, idPaths: ['id'], uniqueFields: [] });
    expect(outcome).toMatchObject({ kind: 'ambiguous', cause: 'unreadable_answer' });
    const shown = JSON.stringify(outcome);
    expect(shown).toContain('an id that contains the API key, or 16 characters of a secret');
    expect(shown).not.toContain(HEX_KEY.slice(8, 14));
  });
});

describe('what else is compared, stored or sent', () => {
  const { clean } = cleaner();
  const shared = HEX_KEY.slice(10, 18);

  it('an SKU, an address and a time of a publication are unchanged where they share characters with a secret', () => {
    const baseUrl = { origin: 'https://api.example.com', prefix: '' };
    const shape = publicationShape(Profile.parse({}), { baseUrl, clean });
    const url = `https://dpp.example.com/p/dpp_${shared}`;
    expect(
      shape.read({
        id: `p-${shared}`,
        product: uuid(1),
        sku: '20261128-001',
        status: 'published',
        published_at: '20261128',
        url,
      }),
    ).toMatchObject({ entry: { id: `p-${shared}`, sku: '20261128-001', publishedAt: '20261128', url } });
    expect(urlAt({ url: `https://x.example/${HEX_KEY}` }, ['url'], { origin: baseUrl.origin, clean })).toBeNull();
  });

  it('a state that shares characters with a secret is compared as the platform says it', () => {
    const profile = Profile.parse({ publications: { publicStates: [`live_${shared}`] } });
    const shape = publicationShape(profile, { baseUrl: { origin: 'https://api.example.com', prefix: '' }, clean });
    expect(shape.read({ id: 1, sku: 'A', status: `draft_${shared}` })).toMatchObject({ entry: { isPublic: false } });
    expect(shape.read({ id: 1, sku: 'A', status: `live_${shared}` })).toMatchObject({ entry: { isPublic: true } });
  });

  it('the field and the code of a refusal are compared as the platform says them', () => {
    const classifier = createClassifier({ clean, now: () => 0, unprocessed: [] });
    const refusal = (body: unknown) =>
      classifier.outcomeOf(
        { kind: 'answer', status: 400, headers: {}, body: JSON.stringify(body), cut: null },
        { needsId: true, idPaths: ['id'], uniqueFields: [`sku_${shared}`] },
      );
    expect(refusal({ errors: [{ code: 'unique', attr: `sku_${shared}`, detail: 'No.' }] })).toMatchObject({
      kind: 'exists',
    });
    expect(refusal({ [`sku_${shared}`]: ['This value must be unique.'] })).toMatchObject({ kind: 'exists' });
  });

  it('a redirect is shown with its whole address', () => {
    const classifier = createClassifier({ clean, now: () => 0, unprocessed: [] });
    const to = (location: string) =>
      JSON.stringify(
        classifier.outcomeOf(
          { kind: 'answer', status: 301, headers: { location }, body: '', cut: null },
          { needsId: false, idPaths: [], uniqueFields: [] },
        ),
      );
    expect(to(`https://x.example/dpp_${shared}/?key=${HEX_KEY}`)).toContain(`to https://x.example/dpp_${shared}/.`);
    expect(to(`https://x.example/${HEX_KEY}`)).not.toContain(HEX_KEY.slice(8, 14));
  });
});

describe('a value that is shown', () => {
  const { secrets } = cleaner();

  it('a value without white space keeps what it shares with a secret, so that a program can use the id', () => {
    const id = `item-${HEX_KEY.slice(4, 19)}`;
    expect(secrets.scrubValue(id)).toBe(id);
    expect(secrets.scrubValue(`The item ${id} is unknown.`)).not.toContain(HEX_KEY.slice(8, 14));
  });

  it('a value never has a whole secret or 16 characters of one', () => {
    for (const secret of SECRETS) expect(secrets.scrubValue(`postgres://u:${secret}@h/d`)).not.toContain(secret);
    expect(secrets.scrubValue(HEX_KEY.slice(8, 24))).toBe('…');
  });
});
