// `show`, `why`, the causes of the dashboard, the HTTP API and the page on troubleshooting have the same words for each
// code that a ledger can have.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Advice } from '../../../src/domain/advice.ts';
import { mayExplain, REASON_CODES } from '../../../src/domain/delivery/stored-reason.ts';
import type { Cause, Why } from '../../../src/domain/ports/ledger/dashboard-views.ts';
import { ISSUES } from '../../../src/domain/words/issues.ts';
import { REASONS } from '../../../src/domain/words/reasons.ts';
import { STATES } from '../../../src/domain/words/states.ts';
import type { Words } from '../../../src/domain/words/word.ts';
import { cellsOf } from '../../generate/troubleshooting-page.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { write } from '../../support/ledger/frozen-ledger.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { type ServedWorld, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { createWorld } from '../../support/worlds/world.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/troubleshooting.md'), 'utf8');

/** The states in which a delivery needs a person. */
const STUCK = ['blocked', 'rejected', 'in_doubt', 'parked'] as const;

interface Case {
  name: string;
  /** The key of the product; its SKU has an `S` in front. */
  key: string;
  state: (typeof STUCK)[number] | 'delivered';
  code: string;
  /** The entry of the registry that all of them have to show. */
  words: Words;
}

/** The first state in which a person meets the reason. In the other states, the words of the state are shown. */
const REASON_CASES = REASON_CODES.flatMap((code) => {
  const states = STUCK.filter((state) => mayExplain(code, state));
  const first = code === 'exhausted' ? 'parked' : states[0];
  return states.map((state): Case => {
    const words = state === first ? REASONS[code] : { ...STATES[state], title: REASONS[code].title };
    return { name: `${code} when ${state}`, key: `R-${code}-${state}`, state, code, words };
  });
});
const ISSUE_CASES = Object.entries(ISSUES).map(([code, words]): Case => {
  const title = words.title.endsWith('.') ? words.title : `${words.title}.`;
  return {
    name: code,
    key: `I-${code}`,
    state: 'delivered',
    code,
    words: { ...words, title, command: 'dpp-sync sync SOURCE' },
  };
});
const CASES = [...REASON_CASES, ...ISSUE_CASES];

let served: ServedWorld;
let causes: Cause[];

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

beforeAll(async () => {
  const rows = CASES.map(({ key }) => `${key},S${key},Product`).join('\n');
  const world = await createWorld({
    config: {
      web: { port: 0, token: WEB_TOKEN },
      sources: [
        {
          id: 'erp',
          connector: 'csv',
          options: { path: './products.csv', key: ['ID'] },
          mappings: [
            {
              to: 'product',
              key: 'row.ID',
              fields: { sku: 'row.SKU', name: 'row.NAME', country_of_origin: '"DE"', status: '"DRAFT"' },
            },
          ],
        },
      ],
    },
    files: { 'products.csv': `ID,SKU,NAME\n${rows}\n` },
  });
  served = await startDaemon(world);
  await served.daemon.startRun('erp', 'schedule');
  const delivered = async () => (await served.daemon.runtime.reads.itemCounts()).product.delivered;
  await vi.waitUntil(async () => (await delivered()) === CASES.length, { timeout: WAIT_MS });
  write(
    join(world.folder, 'data/ledger.db'),
    [
      ...REASON_CASES.map(({ key, state, code, words: { title } }) => {
        const reason = JSON.stringify({ code, message: title });
        return `UPDATE items SET state = ${quoted(state)}, due_at = 0, reason = ${quoted(reason)} WHERE key = ${quoted(key)};`;
      }),
      ...ISSUE_CASES.map(({ key, code, words: { title } }) => {
        const issues = JSON.stringify([{ code, message: title }]);
        return `UPDATE records SET state = 'quarantined', issues = ${quoted(issues)} WHERE key = ${quoted(key)};`;
      }),
    ].join('\n'),
  );
  causes = await read<Cause[]>('/causes');
});

afterAll(() => served.remove());

async function read<Body>(path: string): Promise<Body> {
  const answer = await fetch(`${served.url}/api/v1${path}`, { headers: { authorization: `Bearer ${WEB_TOKEN}` } });
  expect(answer.status).toBe(200);
  return (await answer.json()) as Body;
}

async function printed<Document>(...args: string[]): Promise<Document> {
  const { stdout } = await runHere([...args, '-c', served.world.configFile, '--json']);
  return JSON.parse(stdout) as Document;
}

/** An issue that names no field is about a value. */
const titleOf = (title: string | undefined) => title?.replace(/^FIELD\b/, 'The value');

/** The words for a case, with the values of its item in place of the words that stand for them. */
function expected({ key, words: { title, meaning, cure, command } }: Case): Advice {
  const fill = (text: string) => text.replaceAll('KEY', key).replaceAll('SKU', `S${key}`).replaceAll('SOURCE', 'erp');
  return {
    title: titleOf(title) ?? '',
    meaning: meaning ?? null,
    cure: cure.replaceAll(/`dpp-sync [^`]*`/g, fill),
    command: command === undefined ? null : fill(command),
  };
}

describe('the words for a cause', () => {
  it.each(CASES)('the words for a cause are the same everywhere: $name', async (one) => {
    const { key, state, code, words } = one;
    const advice = expected(one);
    const { item: shown } = await printed<{ item: { advice: Advice } }>('show', 'product', key);
    const { steps } = await printed<Why>('why', key);
    const { item: answered } = await read<{ item: { advice: Advice } }>(`/items/product/${key}`);
    expect(shown.advice).toEqual(advice);
    expect(answered.advice).toEqual(advice);
    expect(steps.map((step) => step.advice)).toContainEqual(advice);

    const type = state === 'in_doubt' ? 'unconfirmed' : state === 'delivered' ? 'quarantine' : state;
    const { title, meaning, cure, command } = causes.find((cause) => cause.code === code && cause.type === type) ?? {};
    expect({ title, meaning, cure, command }).toEqual(advice);

    // The page names the command for all issues once.
    const { command: own, ...rest } = words;
    const [, inPage] = cellsOf(state === 'delivered' ? rest : words);
    expect(page).toContain(inPage);
    if (own !== undefined) expect(page).toContain(`\`${own}\``);
    if (meaning !== undefined) expect(page).toContain(meaning);
    expect(page).toContain(`**${titleOf(words.title)?.replace(/\.$/, '')}.**`);
  });

  it('the words for an issue are exact: its own cure is shown in place of the one for its code', async () => {
    const [first] = ISSUE_CASES;
    const issues = JSON.stringify([{ code: first?.code, message: 'It is so.', cure: 'Did you mean "SKU"?' }]);
    write(
      join(served.world.folder, 'data/ledger.db'),
      `UPDATE records SET issues = ${quoted(issues)} WHERE key = ${quoted(first?.key ?? '')};`,
    );
    const cure = 'Did you mean "SKU"?';
    const { item } = await printed<{ item: { advice: Advice } }>('show', 'product', first?.key ?? '');
    const [cause] = (await read<Cause[]>('/causes')).filter(({ code }) => code === first?.code);
    expect(item.advice).toMatchObject({
      title: titleOf(first?.words.title),
      meaning: first?.words.meaning ?? null,
      cure,
    });
    expect(cause).toMatchObject({ title: titleOf(first?.words.title), meaning: first?.words.meaning ?? null, cure });
  });
});
