import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCleanText, parseJson, valueAt } from '../../../src/api/answers/answer-text.ts';
import { decodeError } from '../../../src/api/answers/decode.ts';
import { remoteIdIn } from '../../../src/api/answers/entry.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';

const clean = createCleanText(createSecretStore());
const decode = (body: unknown) => decodeError(typeof body === 'string' ? body : JSON.stringify(body), clean);

describe('parseJson', () => {
  it('parseJson keeps every digit of an integer that a double would round', () => {
    expect(parseJson('{"id": 9007199254740993, "n": [-12345678901234567890]}')).toEqual({
      id: '9007199254740993',
      n: ['-12345678901234567890'],
    });
    expect(parseJson('{"id": 9007199254740991, "sku": "9007199254740993"}')).toEqual({
      id: 9007199254740991,
      sku: '9007199254740993',
    });
    expect(parseJson('[0.1234567890123456789, 1e300]')).toEqual([Number('0.1234567890123456789'), 1e300]);
  });

  it('parseJson answers undefined for text that is not JSON', () => {
    for (const text of ['', '<html>', '{"id": 7', 'NaN', "{'id': 7}"]) expect(parseJson(text), text).toBeUndefined();
  });

  it('parseJson agrees with JSON.parse wherever no integer is unsafe', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const expected: unknown = JSON.parse(text);
        const unsafe = /\d{16}/.test(text);
        if (!unsafe) expect(parseJson(text)).toEqual(expected);
      }),
    );
  });
});

describe('valueAt', () => {
  it('valueAt follows own members only', () => {
    expect(valueAt({ data: { id: 7 } }, 'data.id')).toBe(7);
    expect(valueAt([{ id: 7 }], '0.id')).toBe(7);
    for (const path of ['constructor', '__proto__', 'data.x', 'data.id.y', 'toString.name']) {
      expect(valueAt({ data: { id: 7 } }, path), path).toBeUndefined();
    }
  });
});

describe('remoteIdIn', () => {
  const paths = ['id', 'uuid', 'data.id'];

  it('remoteIdIn takes the first path that has an id, in its JSON type', () => {
    expect(remoteIdIn({ id: 0 }, { idPaths: paths }, clean)).toBe(0);
    expect(remoteIdIn({ id: '7' }, { idPaths: paths }, clean)).toBe('7');
    expect(remoteIdIn({ id: null, uuid: 'a-b' }, { idPaths: paths }, clean)).toBe('a-b');
    expect(remoteIdIn({ data: { id: 3 } }, { idPaths: paths }, clean)).toBe(3);
  });

  it('remoteIdIn takes nothing that could not be an id', () => {
    for (const id of [null, true, '', '.', '..', 1.5, [], {}, 'x'.repeat(256), 'a\nb', ' a', '<b>7</b>']) {
      expect(remoteIdIn({ id }, { idPaths: paths }, clean), JSON.stringify(id)).toBeNull();
    }
    expect(remoteIdIn('7', { idPaths: paths }, clean)).toBeNull();
    expect(remoteIdIn(null, { idPaths: paths }, clean)).toBeNull();
  });
});

describe('decodeError', () => {
  it('decodeError reads the detail of Django REST Framework', () => {
    expect(decode({ detail: 'Not found.' })).toMatchObject({ message: 'Not found.', fields: {} });
  });

  it('decodeError reads problems by field, nested ones by their path', () => {
    expect(
      decode({
        sku: ['This field is required.', 'Really.'],
        composition: [{}, { mass_fraction: ['Too big.'] }],
        mass: { unit: ['Unknown.'] },
        non_field_errors: ['No.'],
      }),
    ).toMatchObject({
      message: 'No. sku: This field is required. Really. composition.mass_fraction: Too big. mass.unit: Unknown.',
      fields: {
        sku: 'This field is required. Really.',
        'composition.mass_fraction': 'Too big.',
        'mass.unit': 'Unknown.',
      },
    });
  });

  it('decodeError reads problems of fields that are called like members without meaning', () => {
    expect(decode({ status: ['"WRONG" is not a valid choice.'] })).toMatchObject({
      message: 'status: "WRONG" is not a valid choice.',
      fields: { status: '"WRONG" is not a valid choice.' },
    });
    expect(decode({ code: ['material with this code already exists.'] })).toMatchObject({
      fields: { code: 'material with this code already exists.' },
    });
    expect(decode({ status: 400, code: 'invalid', detail: 'Nope.' })).toMatchObject({ message: 'Nope.', fields: {} });
  });

  it('decodeError reads a problem document', () => {
    const problem = {
      type: 'about:blank',
      title: 'Conflict',
      status: 409,
      detail: 'A review is open.',
      instance: '/x',
    };
    expect(decode(problem)).toMatchObject({ message: 'A review is open.', fields: {} });
    expect(decode({ type: 'about:blank', title: 'Conflict', status: 409 }).message).toBe('Conflict');
    expect(
      decode({ title: 'Invalid', 'invalid-params': [], errors: [{ pointer: '#/sku', detail: 'too long' }] }),
    ).toMatchObject({ message: 'Invalid sku: too long', fields: { sku: 'too long' } });
  });

  it.each([
    [{ error: 'No.' }, 'No.'],
    [{ error: { code: 'x', message: 'No.' } }, 'No.'],
    [{ message: 'No.' }, 'No.'],
    [{ errors: ['No.', 'Never.'] }, 'No. Never.'],
    [{ errors: [{ code: 'blank', detail: 'No.', attr: null }] }, 'No.'],
    ['"No."', 'No.'],
    [['No.'], 'No.'],
    [{ success: false, code: 17 }, ''],
    [null, ''],
    [[], ''],
    ['', ''],
  ])('decodeError finds the words in %j', (body, message) => {
    expect(decode(body)).toMatchObject({ message, fields: {} });
  });

  it.each([
    ['The passport cannot be published: review is missing.', ['review'], ''],
    ['Cannot be published: a is missing, b is missing.', ['a', 'b'], ''],
    ['Cannot be published: a is missing.', ['a', 'b'], ' missing: a, b'],
    ['Cannot be published: reviews are missing.', ['review'], ' missing: review'],
    ['Cannot be published without a review.', ['review'], ' missing: review'],
    ['The review is missing.', ['review', '.'], ''],
  ])('decodeError names a field once: %j, %j', (detail, missing, rest) => {
    expect(decode({ detail, missing })).toMatchObject({
      message: `${detail}${rest}`,
      fields: { missing: missing.join(', ') },
    });
  });

  it('decodeError takes the text out of HTML, without its scripts', () => {
    const page =
      '<!DOCTYPE html><html><head><title>502 Bad Gateway</title><style>b{color:red}</style></head>' +
      '<body><script>var x = "<b>";</script><h1>Bad\n Gateway</h1><hr>nginx</body></html>';
    expect(decode(page).message).toBe('502 Bad Gateway Bad Gateway nginx');
  });

  it('decodeError shortens long text and drops characters that cannot be shown', () => {
    const { message } = decode({ detail: `a\u0000b\u202Ec${'\ud800'}${'x'.repeat(1_000)}` });
    expect(message).toMatch(/^a b c/);
    expect(message.length).toBe(300);
    expect(message.endsWith('…')).toBe(true);
  });

  it('decodeError keeps a bounded number of problems, however many there are', () => {
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`f${index}`, ['x', ['y']]]));
    expect(decode(many).problems.length).toBeLessThanOrEqual(50);
    const deep = (depth: number) => decode(`${'['.repeat(depth)}"x"${']'.repeat(depth)}`);
    expect(deep(5).message).toBe('x');
    expect(deep(500).message).toBe('');
    expect(() => deep(200_000)).not.toThrow();
  });

  it('decodeError is not misled by the names of object members', () => {
    expect(decode('{"__proto__": ["x"], "constructor": ["y"]}').fields).toEqual(
      Object.fromEntries([
        ['__proto__', 'x'],
        ['constructor', 'y'],
      ]),
    );
  });
});

describe('clean text', () => {
  it('cleaned text has keys of the platform masked, also when they are cut off', () => {
    expect(clean('key dpp_live_0123456789 rejected')).toBe('key dpp_live… rejected');
    expect(clean(`${'x'.repeat(280)} dpp_live_0123456789abcdef`)).not.toContain('0123');
  });

  it('cleaned text has a secret masked before it is cut in two', () => {
    const secrets = createSecretStore();
    secrets.add('plain-secret-of-some-length');
    const wary = createCleanText(secrets);
    for (let pad = 260; pad < 310; pad += 1) {
      expect(wary(`${'x'.repeat(pad)}plain-secret-of-some-length`)).not.toContain('secret');
    }
  });
});
