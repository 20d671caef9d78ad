import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FAULTS, type Fault, type Invariant, ORACLE } from './reliability.ts';

const INVARIANTS: Record<Invariant, string> = {
  I1: 'the cursor moves only with its page',
  I2: 'key and bytes are stored before the first send and never change',
  I3: 'one delivery per item in flight, and none lands after a newer one',
  I4: 'desired and acknowledged never differ without a delivery that says so',
  I5: 'every record and every item is accounted for',
  I6: 'one effect per revision, or the delivery is shown as unconfirmed',
  I7: 'no secret leaves the config',
  I8: 'nothing acknowledged is lost and nothing doubled',
  I9: 'memory and disk are bounded',
};

/** A test as its file's text has it. */
interface CoveringTest {
  file: string;
  title: string;
  faults: Fault[];
  invariants: Invariant[];
}

const TESTS = join(import.meta.dirname, '..');
const TITLE = /(['"`])((?:\\.|(?!\1)[^\n])+)\1/;
/** The title of a test and its options, which may hold more than what it covers. */
const CALL = new RegExp(`${TITLE.source},\\s*(?:\\{\\s*\\.\\.\\.)?covers\\(([^)]*)\\)`, 'g');

/** @throws Error for a call that cannot be read, and for a fault that no test brings about */
export function reliabilityMatrix(): string {
  const tests = globSync('{unit,conformance,integration,model,chaos,e2e}/**/*.test.ts', { cwd: TESTS })
    .toSorted()
    .flatMap(testsIn);
  for (const fault of Object.keys(FAULTS)) {
    if (!tests.some(({ faults }) => faults.includes(fault as Fault))) throw new Error(`no test covers ${fault}`);
  }
  return [INTRODUCTION, matrixOf(tests), '## The tests', listOf(tests), ''].join('\n\n');
}

function testsIn(file: string): CoveringTest[] {
  const text = readFileSync(join(TESTS, file), 'utf8');
  const found = [...text.matchAll(CALL)].map(({ index, 2: own = '', 3: inner = '' }) => {
    const title = [...suitesAround(text, index), own].join(' ').replaceAll(/%\w|\$\w+|\$\{\w+\}/g, '…');
    const names = [...inner.matchAll(/'([^']+)'/g)].map(([, name = '']) => name);
    const invariants = names.filter((name): name is Invariant => name in INVARIANTS);
    if (inner.includes('...ORACLE')) invariants.push(...ORACLE);
    const faults = names.filter((name): name is Fault => name in FAULTS);
    return { file, title: title.replaceAll(/\\(.)/gs, '$1'), faults, invariants };
  });
  const calls = text.match(/\bcovers\(/g)?.length ?? 0;
  if (found.length !== calls) throw new Error(`${file}: ${calls} calls of covers(), ${found.length} that can be read`);
  return found;
}

const SUITE = /^( *)describe.*?\(\s*(['"`])([^\n]+?)\2/gm;

/** The names of the suites that a place in a file lies in, outermost first, as far as its indentation tells. */
function suitesAround(text: string, place: number): string[] {
  const before = [...text.slice(0, place).matchAll(SUITE)].toReversed();
  const line = text.slice(text.lastIndexOf('\n', place) + 1, place);
  let indent = line.length - line.trimStart().length;
  const names: string[] = [];
  for (const [, spaces = '', , name = ''] of before) {
    if (spaces.length >= indent) continue;
    indent = spaces.length;
    names.unshift(name);
  }
  return names;
}

function matrixOf(tests: readonly CoveringTest[]): string {
  const columns = Object.keys(INVARIANTS) as Invariant[];
  const rows = Object.entries(FAULTS).map(([fault, words]) => {
    const cells = columns.map((invariant) =>
      tests
        .flatMap((one, index) =>
          one.faults.includes(fault as Fault) && one.invariants.includes(invariant) ? [index + 1] : [],
        )
        .join(' '),
    );
    return `| ${words} | ${cells.join(' | ')} |`;
  });
  return [`| what goes wrong | ${columns.join(' | ')} |`, `|---|${columns.map(() => '---|').join('')}`, ...rows].join(
    '\n',
  );
}

function listOf(tests: readonly CoveringTest[]): string {
  const byFile = Map.groupBy(
    tests.map((one, index) => ({ ...one, number: index + 1 })),
    ({ file }) => file,
  );
  return [...byFile]
    .map(([file, own]) => {
      const lines = own.map(({ number, title }) => `| ${number} | ${title.replaceAll('|', '\\|')} |`);
      return [`### \`test/${file}\``, '', '| | |', '|---|---|', ...lines].join('\n');
    })
    .join('\n\n');
}

const INTRODUCTION = `<!-- Made from the tests by \`npm run generate\`. -->

# Which faults are tested

Each row is a fault, and each column is an invariant. A cell has the numbers of the tests that cause the fault and then check the
invariant. The tests are listed below by number. No test claims an empty cell.

\`npm test\` runs a short slice of the long ones, the same one in each run; \`npm run test:chaos\` runs all of them.
\`DPP_SYNC_TEST_SEED=N\` draws another slice, and a failure prints the seed that repeats it.

${Object.entries(INVARIANTS)
  .map(([invariant, words]) => `- **${invariant}**: ${words}`)
  .join('\n')}

Products, materials and passports are neither lost nor doubled under the default profile, with a platform that ignores idempotency
keys. BOM items cannot be read back. If the platform honours keys, they are neither lost nor doubled either. If it does not, a BOM item
whose answer was lost is listed as unconfirmed, and a person settles it (\`dpp-sync settle\`).`;
