import { describe, expect, it } from 'vitest';
import { checkedSource } from '../../../src/daemon/sources/checked-source.ts';

const stream = { name: 'parts', options: {}, key: [], signal: new AbortController().signal };
const request = { ...stream, mode: 'snapshot' as const, cursor: null };

/** An opened source with these methods in place of good ones. */
const sourceOf = (methods: Record<string, unknown>) =>
  checkedSource(
    { check: async () => ({ found: 'a list' }), pull: () => [], close: async () => {}, ...methods } as never,
    'own',
  );

const faultWith = (message: RegExp) =>
  expect.objectContaining({
    code: 'source.unreadable',
    message: expect.stringMatching(message),
    suggestion: expect.stringMatching(/^Correct the connector: .*\.$/),
  });

describe('a source that a connector has opened', () => {
  it.each(['check', 'pull', 'close'])('a source without the method `%s` is refused when it is opened', (name) => {
    expect(() => sourceOf({ [name]: undefined })).toThrow(faultWith(new RegExp(`gave no function \`${name}\``)));
  });

  it('a connector that opens nothing is refused, and one without `look` and `acknowledge` is not', async () => {
    expect(() => checkedSource(undefined, 'own')).toThrow(faultWith(/gave no function `check`/));
    const source = sourceOf({});
    expect(source).not.toHaveProperty('look');
    await expect(source.acknowledge?.([], stream.signal)).resolves.toBeUndefined();
  });

  it('a check and a look are passed on, and refused in another form', async () => {
    const check = { found: 'a list', columns: ['id'], warnings: ['It is old.'] };
    expect(await sourceOf({ check: () => check }).check(stream)).toBe(check);
    for (const wrong of [undefined, 'a list', {}, { found: 1 }, { found: 'a list', columns: 'id' }])
      await expect(sourceOf({ check: () => wrong }).check(stream)).rejects.toEqual(
        faultWith(/as the check of the stream parts/),
      );
    expect(await sourceOf({ look: () => ({ facts: null, againMs: 5 }) }).look?.(stream)).toEqual({
      facts: null,
      againMs: 5,
    });
    for (const wrong of [undefined, 5, { facts: 'a' }, { facts: 1, againMs: 5 }, { facts: 'a', againMs: Number.NaN }])
      await expect(sourceOf({ look: () => wrong }).look?.(stream)).rejects.toEqual(
        faultWith(/as the look at the stream parts/),
      );
  });

  it.each([() => undefined, async () => [], () => Promise.reject(new Error('No server.')), () => [{ rows: [] }]])(
    'pages that are no asynchronous generator are refused, and a promise in place of them ends no process',
    (pull) => {
      expect(() => sourceOf({ pull }).pull(request)).toThrow(faultWith(/as the pages of the stream parts/));
    },
  );
});
