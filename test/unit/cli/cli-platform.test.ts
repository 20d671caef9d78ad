import { PassThrough } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { confirm } from '../../../src/cli/confirm.ts';
import { settingsOf } from '../../../src/cli/source/check.ts';
import type { Outcome } from '../../../src/domain/delivery/outcome.ts';
import { outcomeFault } from '../../../src/operations/outcome-fault.ts';
import { pdfName } from '../../../src/operations/platform.ts';

describe('the file of a passport', () => {
  it.each([
    ['TWZ-180-LS', 'passport-TWZ-180-LS.pdf'],
    ['a/b', 'passport-a%2Fb.pdf'],
    ['../../etc/passwd', 'passport-..%2F..%2Fetc%2Fpasswd.pdf'],
    ["it's *", 'passport-it%27s%20%2A.pdf'],
  ])('the file of a passport of %s is %s', (sku, name) => {
    expect(pdfName(sku)).toBe(name);
  });

  it('the file of a passport has a plain, short name for any SKU, and never that of another', () => {
    const sku = fc.string({ unit: 'binary', maxLength: 80 });
    fc.assert(
      fc.property(sku, sku, (one, two) => {
        expect(pdfName(one)).toMatch(/^passport-[\w.%-]{0,120}\.pdf$/);
        if (one.toWellFormed() !== two.toWellFormed()) expect(pdfName(one)).not.toBe(pdfName(two));
      }),
    );
    const long = 'x'.repeat(300);
    expect(pdfName(`${long}1`)).not.toBe(pdfName(`${long}2`));
  });
});

describe('a question', () => {
  const ask = (typed: string | null, signal = new AbortController().signal) => {
    const input = new PassThrough();
    if (typed === null) input.end();
    else input.write(typed);
    return confirm('Sure?', { input, output: new PassThrough(), signal });
  };

  it.each([
    ['y\n', true],
    ['YES\n', true],
    [' yes \n', true],
    ['\n', false],
    ['n\n', false],
    ['yesterday\n', false],
    [null, false],
  ])('a question that is answered with %j is %s', async (typed, answer) => {
    expect(await ask(typed)).toBe(answer);
  });

  it('a question ends when the person presses Ctrl-C, and shows itself before', async () => {
    const controller = new AbortController();
    const output = new PassThrough();
    const asked = confirm('Sure?', { input: new PassThrough(), output, signal: controller.signal });
    controller.abort();
    await expect(asked).rejects.toMatchObject({ name: 'AbortError' });
    output.end();
    expect(await textOf(output)).toBe('Sure? [y/N] \n');
    await expect(ask('y\n', controller.signal)).rejects.toMatchObject({ name: 'AbortError' });
  });
});

describe('what an outcome ends a command with', () => {
  const detail = { status: 500, message: 'Oh.' };
  const read = { failure: 'It cannot be read', cure: 'Fix it.' };
  const write = { ...read, unconfirmedCure: 'Look.' };

  it.each<[Outcome, string, string]>([
    [{ kind: 'denied', by: 'key', detail }, 'api.key', 'api.key'],
    [{ kind: 'denied', by: 'scope', detail }, 'api.key', 'api.key'],
    [{ kind: 'denied', by: 'plan', detail }, 'api.plan', 'api.plan'],
    [{ kind: 'refused', detail }, 'api.refused', 'api.refused'],
    [{ kind: 'gated', detail }, 'api.refused', 'api.refused'],
    [{ kind: 'exists', detail }, 'api.refused', 'api.refused'],
    [{ kind: 'in_flight', detail }, 'api.unreachable', 'api.unreachable'],
    [{ kind: 'throttled', retryAfterMs: 1, detail }, 'api.unreachable', 'api.unreachable'],
    [{ kind: 'unavailable', sent: false, retryAfterMs: null, detail }, 'api.unreachable', 'api.unreachable'],
    [{ kind: 'ambiguous', cause: 'reset', detail }, 'api.unreachable', 'api.doubt'],
    [{ kind: 'ambiguous', cause: 'server_error', detail }, 'api.unreachable', 'api.doubt'],
    [{ kind: 'ambiguous', cause: 'unreadable_answer', detail }, 'api.answer', 'api.doubt'],
  ])('the outcome %j is %s for reads and %s for writes', (outcome, reading, writing) => {
    expect([outcomeFault(outcome, read).code, outcomeFault(outcome, write).code]).toEqual([reading, writing]);
    expect(outcomeFault(outcome, read).message).toContain('Oh. (HTTP 500)');
  });
});

describe('the settings that differences ask for', () => {
  const at = { path: '', what: '', found: '', expected: '', weight: 'breaks' } as const;

  it('the settings that differences ask for stand in their places, lists of one setting together, those of the config apart', () => {
    const settings = settingsOf([
      { ...at, setting: 'wireNames.product.sku', value: 'article' },
      { ...at, setting: 'list.itemsAt', value: ['rows', 'results'] },
      { ...at, setting: 'list.itemsAt', value: ['entries', 'results'] },
      { ...at, setting: 'imports.bodyMember', value: null },
      { ...at, setting: 'target.baseUrl', value: 'https://dpp.example.com/v2' },
      { ...at, setting: 'idempotency' },
      at,
    ]);
    expect(settings).toEqual({
      profile: {
        wireNames: { product: { sku: 'article' } },
        list: { itemsAt: ['rows', 'results', 'entries'] },
        imports: { bodyMember: null },
      },
      target: { baseUrl: 'https://dpp.example.com/v2' },
    });
  });
});
