import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FAULTS, type Fault, type Invariant, ORACLE } from '../support/docs/reliability.ts';

interface Guarantee {
  title: string;
  how: string;
  not: string;
}

const GUARANTEES: Record<Invariant, Guarantee> = {
  I1: {
    title: 'A page of a source is stored whole, with the cursor behind it',
    how: 'One transaction stores the records, items, deliveries and the cursor of a page. After a crash the page is read again.',
    not: 'If a source changes a row and leaves its cursor value as it is, only a snapshot reads this row again.',
  },
  I2: {
    title: 'A request never changes after it was sent',
    how: 'Idempotency key and bytes are stored before the first send. Each attempt of a revision sends the same key and bytes.',
    not: 'dpp-sync cannot make the platform honour the key. The profile says whether the platform does.',
  },
  I3: {
    title: 'One delivery of an item is in flight, and none lands after a newer one',
    how: 'A claim is one row in the ledger, and only one process holds the lock of the ledger. A newer revision is sent only when the earlier one is settled.',
    not: 'A request that the network keeps for longer than `settlingDelayMs` may arrive late.',
  },
  I4: {
    title: 'A difference between source and platform always has a delivery that says so',
    how: 'The transaction that stores a desired payload also stages the delivery. Each run compares the hash of the desired payload with the hash of the baseline.',
    not: 'Changes that people make at the platform by hand are not noticed, unless a list is read for another reason.',
  },
  I5: {
    title: 'Every record and every item is accounted for',
    how: 'In each run, the count of read records is the sum of the counts of unchanged, changed, quarantined and excluded records. Each item has a state and a reason that `status` and `why` show.',
    not: 'dpp-sync does not check columns that no mapping reads.',
  },
  I6: {
    title: 'A revision takes effect once, or it is shown as unconfirmed',
    how: 'An unconfirmed write is looked up in the list of the platform before it is sent again. An absence counts only if the answers prove that the list was read to its end.',
    not: 'BOM items have no list. If the platform also ignores keys, a person has to settle a BOM item whose answer was lost.',
  },
  I7: {
    title: 'No secret leaves the config',
    how: 'dpp-sync knows the secrets from the schema of the config. It removes them from each text before the text is logged, stored or shown.',
    not: 'Secrets of fewer than 8 characters are not removed from texts. `dpp-sync check` warns of such secrets.',
  },
  I8: {
    title: 'Nothing acknowledged is lost, and nothing is doubled',
    how: 'The ledger syncs each commit to the disk. The queue only wakes workers, so a lost queue loses nothing. dpp-sync recognises a restored ledger, and looks up all items before it sends anything that could repeat a write.',
    not: 'If a disk reports a sync that it has not done, dpp-sync does not notice. If a snapshot of the disk restores the mark together with the ledger, dpp-sync does not notice the restore: run `dpp-sync ledger restore`.',
  },
  I9: {
    title: 'Memory and disk are bounded',
    how: 'Pages, queues, answers, uploads and files are read up to a limit. History is pruned.',
    not: 'A lookup file is read as a whole. The ledger grows with records and items.',
  },
};

/** A test as the text of its file describes it. */
interface CoveringTest {
  file: string;
  faults: Fault[];
  invariants: Invariant[];
}

const TESTS = join(import.meta.dirname, '..');
const TITLE = /(['"`])((?:\\.|(?!\1)[^\n])+)\1/;
/** Finds the title of a test and its call of `covers`. The options of the test may have more members. */
const CALL = new RegExp(`${TITLE.source},\\s*(?:\\{\\s*\\.\\.\\.)?covers\\(([^)]*)\\)`, 'g');

/** @throws Error for a call that cannot be read, and for a fault that no test causes */
export function reliabilityMatrix(): string {
  const tests = globSync('{unit,conformance,integration,processes,install,model,chaos,e2e}/**/*.test.ts', {
    cwd: TESTS,
  })
    .toSorted()
    .flatMap(testsIn);
  for (const fault of Object.keys(FAULTS)) {
    if (!tests.some(({ faults }) => faults.includes(fault as Fault))) throw new Error(`no test covers ${fault}`);
  }
  return [INTRODUCTION, ...guarantees(tests), COUNTS, matrixOf(tests), FILES, ...filesOf(tests), ''].join('\n\n');
}

function guarantees(tests: readonly CoveringTest[]): string[] {
  return Object.entries(GUARANTEES).map(([invariant, { title, how, not }]) => {
    const own = tests.filter(({ invariants }) => invariants.includes(invariant as Invariant));
    const files = new Set(own.map(({ file }) => file)).size;
    return [
      `### ${invariant}: ${title}`,
      `**How:** ${how}`,
      `**Not guaranteed:** ${not}`,
      `**Tests:** ${own.length} tests in ${files} files cause a fault and check this guarantee.`,
    ].join('\n\n');
  });
}

function testsIn(file: string): CoveringTest[] {
  const text = readFileSync(join(TESTS, file), 'utf8');
  const found = [...text.matchAll(CALL)].map(({ 3: inner = '' }) => {
    const names = [...inner.matchAll(/'([^']+)'/g)].map(([, name = '']) => name);
    const invariants = names.filter((name): name is Invariant => name in GUARANTEES);
    if (inner.includes('...ORACLE')) invariants.push(...ORACLE);
    const faults = names.filter((name): name is Fault => name in FAULTS);
    return { file, faults, invariants };
  });
  const calls = text.match(/\bcovers\(/g)?.length ?? 0;
  if (found.length !== calls) throw new Error(`${file}: ${calls} calls of covers(), ${found.length} that can be read`);
  return found;
}

function matrixOf(tests: readonly CoveringTest[]): string {
  const columns = Object.keys(GUARANTEES) as Invariant[];
  const rows = Object.entries(FAULTS).map(([fault, words]) => {
    const cells = columns.map((invariant) => {
      const own = tests.filter(
        ({ faults, invariants }) => faults.includes(fault as Fault) && invariants.includes(invariant),
      );
      return own.length === 0 ? '' : String(own.length);
    });
    return `| [${words}](#${anchorOf(words)}) | ${cells.join(' | ')} |`;
  });
  return [`| what goes wrong | ${columns.join(' | ')} |`, `|---|${columns.map(() => '---|').join('')}`, ...rows].join(
    '\n',
  );
}

/** The anchor that a heading gets on a page. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** For each fault, lists the files whose tests cause it, with the guarantees that these tests check. */
function filesOf(tests: readonly CoveringTest[]): string[] {
  return Object.entries(FAULTS).map(([fault, words]) => {
    const own = tests.filter(({ faults }) => faults.includes(fault as Fault));
    const lines = [...Map.groupBy(own, ({ file }) => file)].map(([file, found]) => {
      const checked = new Set(found.flatMap(({ invariants }) => invariants));
      const names = Object.keys(GUARANTEES).filter((invariant) => checked.has(invariant as Invariant));
      return `- \`test/${file}\`: ${found.length === 1 ? '1 test' : `${found.length} tests`} of ${names.join(', ')}`;
    });
    return [`### ${words}`, lines.join('\n')].join('\n\n');
  });
}

const INTRODUCTION = `<!-- Made from the tests by \`npm run generate\`. -->

# Reliability

This page says what dpp-sync guarantees, how, and what it does not guarantee. Each test causes a fault and then checks the guarantee.

In short, with the default profile: none of the faults below loses or doubles a product, a material or a passport, even if the platform
ignores idempotency keys. None loses or doubles a BOM item if the platform honours the keys. If the platform does not honour them, a BOM
item whose answer was lost is listed as *sent, no answer yet*, and [a person settles it](operations.md#an-item-has-no-answer-yet).

\`npm run test:chaos\` runs the long tests in full. \`npm run test:slow\` runs a short slice of them, the same one each time;
\`DPP_SYNC_TEST_SEED=N\` draws another slice, and a failure prints the seed that repeats it.

## Guarantees`;

const COUNTS = `## Faults and guarantees

Each cell has the number of tests that cause the fault of its row and check the guarantee of its column. An empty cell has no test.`;

const FILES = `## The tests by fault

\`npx vitest run FILE\` runs one file. The name of each test says what the test does.`;
