import type { AnswerHeaders } from './transport.ts';

/** Fields that state a quota with its window, in the forms of the draft and of earlier conventions. */
const FIELDS = ['ratelimit-policy', 'ratelimit-limit', 'x-ratelimit-policy', 'x-ratelimit-limit'];
/** A stated rate outside these bounds, per second, cannot be meant as a limit. */
const SANE = { least: 1 / 3600, most: 100_000 };
const WINDOW_SECONDS_MAX = 86_400;
const TEXT_MAX = 1000;

/**
 * The rate that an answer states as the limit: `"name";q=100;w=60` (draft-ietf-httpapi-ratelimit-headers) or `100;w=60`
 * (its versions up to 06). If there are several policies, the strictest one counts. The remaining quota is ignored, because it may be
 * shared with other clients. The time of the reset counts only for a refusal (retry-after.ts).
 *
 * @returns requests per second; null if no plausible rate is stated with a window
 */
export function advisedRate(headers: AnswerHeaders): number | null {
  let least: number | null = null;
  for (const name of FIELDS) {
    const value = headers[name];
    if (value === undefined) continue;
    const text = (Array.isArray(value) ? value.join(',') : value).slice(0, TEXT_MAX);
    for (const policy of text.split(',')) {
      const rate = rateOf(policy);
      if (rate !== null && (least === null || rate < least)) least = rate;
    }
  }
  return least;
}

function rateOf(policy: string): number | null {
  const [head = '', ...parameters] = policy.split(';').map((part) => part.trim());
  const named = new Map(parameters.map((one) => one.split('=', 2) as [string, string | undefined]));
  const quota = numberIn(named.get('q') ?? head);
  const seconds = numberIn(named.get('w'));
  if (quota === null || seconds === null || seconds <= 0 || seconds > WINDOW_SECONDS_MAX) return null;
  const rate = quota / seconds;
  return rate >= SANE.least && rate <= SANE.most ? rate : null;
}

function numberIn(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,9}(?:\.\d{1,6})?$/.test(text) ? Number(text) : null;
}
