import { expect, it } from 'vitest';
import { createContactFailures } from '../../../src/delivery/first-contact.ts';
import type { Outcome } from '../../../src/domain/delivery/outcome.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';

it('a list that cannot be read is logged once for each kind of answer, however the platform words it', async () => {
  const lines: string[] = [];
  const log = {
    info: (_: object, text: string) => lines.push(text),
    warn: (_: object, text: string) => lines.push(text),
  };
  const ledger = { failListing: () => Promise.resolve() };
  const failures = createContactFailures({ ledger, clock: createManualClock(), log });
  const fail = (kind: 'unavailable' | 'refused', message: string) =>
    failures.readFailed('product', 'product', { kind, detail: { message } } as Outcome);
  for (let at = 0; at < 8; at += 1) {
    await fail('unavailable', `Error ${at}7f3a-${at}: try again later.`);
    await fail('refused', `Request ${at} is not valid.`);
  }
  expect(lines).toEqual([
    expect.stringContaining('Error 07f3a-0: try again later.'),
    expect.stringContaining('Request 0 is not valid.'),
  ]);
  failures.succeeded('product');
  await fail('unavailable', 'Error 9: try again later.');
  expect(lines.slice(2)).toEqual([
    expect.stringContaining("The platform's list was read."),
    expect.stringContaining('Error 9: try again later.'),
  ]);
});
