import { expect, it } from 'vitest';
import { keepToken } from '../../../src/sdk/rest/rest-auth.ts';

const signal = new AbortController().signal;

/** Tokens 1, 2, 3 … that end as they are told. */
function numbered(endsAt: (number: number) => number = () => Number.POSITIVE_INFINITY) {
  let given = 0;
  const kept = keepToken(async () => {
    given += 1;
    const number = given;
    await Promise.resolve();
    return { value: String(number), endsAt: endsAt(number) };
  });
  const valuesOf = async (tokens: Promise<{ value: string }>[]) =>
    (await Promise.all(tokens)).map(({ value }) => value);
  return { kept, given: () => given, valuesOf };
}

it('gives all requests that begin at once the same token', async () => {
  const { kept, valuesOf, given } = numbered();
  expect(await valuesOf([1, 2, 3].map(() => kept.current(signal)))).toEqual(['1', '1', '1']);
  expect(given()).toBe(1);
});

it('shares one renewal among requests whose token has ended', async () => {
  const { kept, valuesOf, given } = numbered((number) => (number === 1 ? 0 : Number.POSITIVE_INFINITY));
  expect(await valuesOf([1, 2, 3].map(() => kept.current(signal)))).toEqual(['2', '2', '2']);
  expect(given()).toBe(2);
});

it('shares one renewal among requests that are refused together', async () => {
  const { kept, valuesOf, given } = numbered();
  await kept.current(signal);
  const refused = ({ value }: { value: string }) => value === '1';
  expect(await valuesOf([1, 2, 3].map(() => kept.afterRefusal(refused, signal)))).toEqual(['2', '2', '2']);
  // One that was refused earlier, and says so late, gets the token that is there.
  expect(await valuesOf([kept.afterRefusal(refused, signal)])).toEqual(['2']);
  expect(given()).toBe(2);
});

it('ends although each token has ended when it comes', async () => {
  const { kept, given } = numbered(() => 0);
  await kept.current(signal);
  expect(given()).toBeLessThanOrEqual(2);
});

it('asks again after a failure', async () => {
  let isDown = true;
  const kept = keepToken(() => {
    if (!isDown) return Promise.resolve({ value: 'token', endsAt: Number.POSITIVE_INFINITY });
    isDown = false;
    return Promise.reject(new Error('down'));
  });
  await expect(kept.current(signal)).rejects.toThrow('down');
  expect(await kept.current(signal)).toMatchObject({ value: 'token' });
});
