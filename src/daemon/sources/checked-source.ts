import { inspect } from 'node:util';
import { isJsonObject } from '../../lib/json.ts';
import { type OpenSource, type StreamCheck, type StreamLook, sourceFault } from '../../sdk/connector.ts';
import { checkedPages, isTexts } from './checked-pages.ts';

/** A connector may be written in JavaScript, so its types prove nothing. */
type Given = OpenSource<unknown> | null | undefined;

/**
 * Checks what a connector of another author gives, so that a mistake in it is reported as one of the connector.
 *
 * @throws a `sourceFault` if the connector has not opened a source, or a method of it is absent
 */
export function checkedSource(given: Given, connector: string): OpenSource<unknown> {
  const wrong = (what: string, cure: string): Error =>
    sourceFault(`The connector ${connector} ${what}.`, { suggestion: `Correct the connector: ${cure}.` });
  for (const name of ['check', 'pull', 'close', 'look', 'acknowledge'] as const) {
    const isOptional = name === 'look' || name === 'acknowledge';
    if (typeof given?.[name] === 'function' || (isOptional && given?.[name] === undefined)) continue;
    throw wrong(
      `has opened its source, and gave no function \`${name}\` with it`,
      '`open` gives an object with the methods `check`, `pull` and `close`',
    );
  }
  const opened = given as OpenSource<unknown>;
  return {
    async check(stream) {
      const found = await opened.check(stream);
      if (isCheck(found)) return found;
      throw wrong(
        `gave ${shown(found)} as the check of the stream ${stream.name}`,
        '`check` gives `{ found, columns, warnings }`: a text, and two lists of texts that may be absent',
      );
    },
    pull(request) {
      const pages: unknown = opened.pull(request);
      if (isAsyncIterable(pages)) return checkedPages(pages, { connector, stream: request.name, ...request });
      // A `pull` without the asterisk is the mistake to report. If its promise also fails, nobody waits for it, and the process would end.
      if (pages instanceof Promise) pages.catch(() => undefined);
      throw wrong(
        `gave ${shown(pages)} as the pages of the stream ${request.name}`,
        '`pull` is an asynchronous generator, `async *pull({ … }) { yield { rows }; }`',
      );
    },
    ...(opened.look && {
      async look(stream) {
        const look = await opened.look?.(stream);
        if (isLook(look)) return look;
        throw wrong(
          `gave ${shown(look)} as the look at the stream ${stream.name}`,
          '`look` gives `{ facts, againMs }`: a text or null, and a number of milliseconds',
        );
      },
    }),
    acknowledge: async (streams, signal) => opened.acknowledge?.(streams, signal),
    close: () => opened.close(),
  };
}

function isCheck(value: unknown): value is StreamCheck {
  if (!isJsonObject(value)) return false;
  const { found, columns = [], warnings = [] } = value as Record<string, unknown>;
  return typeof found === 'string' && isTexts(columns) && isTexts(warnings);
}

function isLook(value: unknown): value is StreamLook {
  if (!isJsonObject(value)) return false;
  const { facts, againMs } = value as Record<string, unknown>;
  return (facts === null || typeof facts === 'string') && typeof againMs === 'number' && againMs >= 0;
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<never> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

/** A value in a message, on one line. */
const shown = (value: unknown): string =>
  inspect(value, { depth: 1, breakLength: Number.POSITIVE_INFINITY }).slice(0, 100);
