import { describe, expect, it } from 'vitest';
import {
  createPrivateNames,
  createReplacements,
  type Replaced,
  redactExchanges,
} from '../../../src/cli/recording/redact.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';

/** Redacts one answer, and the request after it. */
function redacted(body: unknown, path = '/items', next = '{}', scrub = (text: string) => text) {
  const origin = 'https://erp.example.com';
  const exchange = (own: string, text: string) => ({
    request: { method: 'GET', origin, path: own, body: '' },
    answer: { status: 200, headers: { link: `<${origin}/items?page=2>; rel="next"` }, body: text },
  });
  const replaced: Replaced = new Map();
  const tools = { replacements: createReplacements(), scrub, members: [] };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const [first, second] = redactExchanges([exchange('/items', text), exchange(path, next)], tools, replaced);
  return { text: first?.answer.body ?? '', answer: first?.answer, path: second?.request.path ?? '', replaced };
}

describe('the members that a recording replaces', () => {
  const { ofMember, ofParameter } = createPrivateNames(['Remark']);
  it.each([
    'email',
    'E_MAIL',
    'billingEmail',
    'contact-name',
    'contacts',
    'Telefon',
    'ShipTo_Address',
    'createdBy',
    'remark',
    'ownerName',
    'phone_work',
    'contact_info',
    'bearbeiter',
  ])('replaces %s, which is about people', (name) => {
    expect(ofMember(name)).toBe('personal');
  });
  it.each(['hotel', 'name', 'contactId', 'mailOrderNumber', 'zipperLength', 'description', 'tokenCount'])(
    'leaves %s as it is',
    (name) => {
      expect(ofMember(name)).toBeNull();
    },
  );

  it.each(['key', 'KEY', 'sig', 'X-Amz-Signature', 'access_token'])(
    'replaces the parameter %s of an address',
    (name) => {
      expect(ofParameter(name)).not.toBeNull();
    },
  );

  it.each(['sort_key', 'keyword', 'page', 'code', 'design'])('leaves the parameter %s of an address', (name) => {
    expect(ofParameter(name)).toBeNull();
  });
});

describe('what a recording replaces', () => {
  it('different values get different replacements, however short they are', () => {
    const letters = Array.from('abcdefghijklmnopqrstuvwxyz');
    const { text } = redacted(letters.map((name) => ({ email: name })));
    const found = (JSON.parse(text) as { email: string }[]).map(({ email }) => email);
    expect(new Set(found).size).toBe(letters.length);
  });

  it('numbers stay numbers, and those that are not about people stay as they are written', () => {
    const { text } = redacted('{"phone":12345678901234567890,"mobile":4930,"price":1.50,"serial":9007199254740993}');
    expect(text).toMatch(/^\{"phone":[1-9]\d{19},"mobile":[1-9]\d{3},"price":1\.50,"serial":9007199254740993\}$/);
    expect(text).not.toContain('12345678901234567890');
  });

  it('a token of a page is replaced in the next request as in the answer', () => {
    const { text, path } = redacted(
      { nextToken: 'abcdef/1234567890=' },
      '/items?pageToken=abcdef%2F1234567890%3D&limit=20',
    );
    const { nextToken } = JSON.parse(text) as { nextToken: string };
    expect(nextToken).not.toBe('abcdef/1234567890=');
    expect(path).toBe(`/items?pageToken=${encodeURIComponent(nextToken)}&limit=20`);
  });

  it('a secret of the config is replaced as a whole, also one of digits alone', () => {
    const secrets = createSecretStore();
    const [key, pin] = ['access-9f3a7c21-of-the-shop', '4711081547110815'];
    for (const secret of [key, pin]) secrets.add(secret);
    const exchange = {
      request: { method: 'GET', origin: 'https://erp.example.com', path: `/items?k=${key}&p=${pin}`, body: '' },
      answer: { status: 200, headers: {}, body: JSON.stringify({ used: key }) },
    };
    const tools = { replacements: createReplacements(), scrub: secrets.scrubWhole, members: [] };
    const [first] = redactExchanges([exchange], tools, new Map());
    expect(first?.request.path).toBe('/items?k=%E2%80%A6&p=%E2%80%A6');
    expect(first?.answer.body).toBe('{"used":"…"}');
  });

  it.each(['consumer_key', 'key', 'sig', 'signature', 'token'])(
    'a literal `%s` of a request is replaced, also where an answer repeats the address',
    (name) => {
      const echo = { error: `not allowed: /items?${name}=literal-77` };
      const { path, text } = redacted(echo, `/items?${name}=literal-77`);
      expect(path).toMatch(new RegExp(`^/items\\?${name}=[a-z]{7}-\\d\\d$`));
      expect([path, text].join()).not.toContain('literal');
      expect(text).toContain(path);
    },
  );

  it.each(['key', 'api_key', 'pin'])('a literal `%s` of a request is replaced, however short it is', (name) => {
    const { path } = redacted({}, `/items?${name}=4815&limit=20`);
    expect(path).toMatch(new RegExp(`^/items\\?${name}=\\d{4}&limit=20$`));
    expect(path).not.toContain('4815');
  });

  it('a short password is replaced, and the token of a page that is only a few characters stays', () => {
    const { text } = redacted({ password: 'abc', token: 'k9x3p1', nextToken: '10', login: { secret: '7' } });
    expect(text).toMatch(
      /^\{"password":"[a-z]{3}","token":"[a-z]\d[a-z]\d[a-z]\d","nextToken":"10","login":\{"secret":"\d"\}\}$/,
    );
    for (const secret of ['abc', 'k9x3p1', '"7"']) expect(text).not.toContain(secret);
  });

  it('secrets that are numbers are replaced: those of the config, and those in members with the name of a secret', () => {
    const secrets = createSecretStore();
    secrets.add('987654321098');
    const { text } = redacted(
      '{"used":987654321098,"long":98765432109800000000,"session":471108,"ids":[12345678901]}',
      '/items',
      '{}',
      secrets.scrubWhole,
    );
    expect(text).toMatch(/^\{"used":\d{12},"long":\d{20},"session":\d{6},"ids":\[12345678901\]\}$/);
    for (const secret of ['987654321098', '471108']) expect(text).not.toContain(secret);
  });

  it('a value in a link is replaced although only the next answer shows that it is about people', () => {
    const { text } = redacted({ next: '/items?after=Sommerfeld' }, '/items', '{"surname":"Sommerfeld"}');
    expect(text).toMatch(/^\{"next":"\/items\?after=[A-Z][a-z]{9}"\}$/);
    expect(text).not.toContain('Sommerfeld');
  });

  it('a value of a parameter keeps all of its text, also behind an equals sign', () => {
    const { path } = redacted({}, '/items?email=a=b@example.com?c=d&page=2');
    expect(path).toMatch(/^\/items\?email=[a-z]%3D[a-z]%40[a-z]{7}\.[a-z]{3}%3F[a-z]%3D[a-z]&page=2$/);
  });

  it('texts that look like secrets are replaced wherever they stand, also in links', () => {
    const { text, replaced } = redacted({
      url: 'https://files.example.net/a.jsonl?X-Signature=0123456789abcdef&part=2',
      note: 'use shpat_0123456789abcdef, or eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln',
    });
    for (const secret of ['0123456789abcdef', 'eyJhbGciOiJIUzI1NiJ9']) expect(text).not.toContain(secret);
    expect(text).toContain('&part=2');
    expect([...replaced.keys()]).toContain('tokens in texts');
  });

  it('the address of the server is a placeholder, in bodies and in headers', () => {
    const { text, answer } = redacted({ next: 'https://erp.example.com/items?page=2' });
    expect(text).toBe('{"next":"https://recorded.invalid/items?page=2"}');
    expect(answer?.headers).toEqual({ link: '<https://recorded.invalid/items?page=2>; rel="next"' });
  });

  it('lines of JSON are replaced line by line', () => {
    const { text } = redacted('{"id":1,"email":"a@example.com"}\n{"id":2}\n');
    expect(text).toMatch(/^\{"id":1,"email":"[a-z]@[a-z]{7}\.[a-z]{3}"\}\n\{"id":2\}\n$/);
  });
});
