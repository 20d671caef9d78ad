import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');

/** The parts that each part may import besides itself and `lib`. A part that is not listed may import no other part. */
const ADAPTERS = ['sdk', 'config', 'api', 'ledger', 'queue', 'observe', 'pipeline', 'delivery'];
const ALLOWED: Record<string, string[]> = {
  lib: [],
  domain: [],
  ...Object.fromEntries(ADAPTERS.map((part) => [part, ['domain']])),
  sandbox: [],
  operations: ['domain', ...ADAPTERS],
  daemon: ['domain', ...ADAPTERS, 'operations', 'sandbox', 'connectors'],
  admin: ['domain', ...ADAPTERS, 'operations', 'daemon'],
  web: ['domain', ...ADAPTERS, 'operations', 'daemon', 'admin'],
  cli: ['domain', ...ADAPTERS, 'operations', 'daemon', 'admin', 'web', 'sandbox', 'connectors'],
  main: ['cli'],
  'prune-modules.ts': [],
  'write-sbom.ts': [],
  connectors: ['sdk'],
};
/** Packages that only the part may import which exists for them. */
const OWNED: Record<string, string[]> = {
  'better-sqlite3': ['ledger', 'sandbox', 'connectors', 'sdk'],
  pg: ['connectors'],
  mysql2: ['connectors'],
  mssql: ['connectors'],
  bullmq: ['queue', 'web'],
  ioredis: ['queue'],
  undici: ['api', 'sdk'],
  'ssh2-sftp-client': ['sdk'],
  'basic-ftp': ['sdk'],
  aws4fetch: ['sdk'],
  yauzl: ['sdk', 'connectors'],
  'node-cron': ['daemon', 'config', 'cli'],
  commander: ['cli'],
  'prom-client': ['observe'],
  '@marcbachmann/cel-js': ['pipeline'],
  pdfkit: ['sandbox'],
  qr: ['sandbox'],
};

interface Import {
  file: string;
  specifier: string;
  from: string;
  to: string;
}

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b[^'";]*?from\s*'([^']+)'|(?:^|\n)\s*import\s*'([^']+)'|\bimport\(\s*'([^']+)'/g;

function partOf(path: string): string {
  const [top = '', second = ''] = relative(ROOT, path).split('/');
  if (top !== 'src') return top;
  return second.startsWith('main.') ? 'main' : second;
}

function importsOf(file: string, text: string): Import[] {
  return [...text.matchAll(IMPORT)].map((match) => {
    const specifier = match[1] ?? match[2] ?? match[3] ?? '';
    const to = specifier.startsWith('.') ? partOf(resolve(dirname(file), specifier)) : `npm:${specifier}`;
    return { file: relative(ROOT, file), specifier, from: partOf(file), to };
  });
}

function problemOf({ file, specifier, from, to }: Import): string | null {
  if (to.startsWith('npm:')) {
    const name = to
      .slice(4)
      .split('/')
      .slice(0, specifier.startsWith('@') ? 2 : 1)
      .join('/');
    const owners = OWNED[name];
    return owners && !owners.includes(from)
      ? `${file} imports ${name}, which belongs to ${owners.join(' and ')}`
      : null;
  }
  if (to === from || (to === 'lib' && from !== 'connectors')) return null;
  if (!(ALLOWED[from] ?? []).includes(to)) return `${file} imports ${specifier}: ${from} may not import ${to}`;
  if (from === 'connectors' && !specifier.endsWith('src/sdk/index.ts'))
    return `${file} imports ${specifier} past the SDK`;
  return null;
}

function sources(): string[] {
  return globSync(['src/**/*.ts', 'connectors/**/*.ts'], { cwd: ROOT }).map((file) => join(ROOT, file));
}

/** The files that the text of a file imports, also for types only. */
function filesImportedBy(file: string): string[] {
  return importsOf(file, readFileSync(file, 'utf8'))
    .filter(({ specifier }) => specifier.startsWith('.'))
    .map(({ specifier }) => resolve(dirname(file), specifier));
}

/** The circles of files that import each other, directly or through other files; each circle once. */
function circles(files: readonly string[], importedBy: (file: string) => string[]): string[][] {
  const done = new Set<string>();
  const way: string[] = [];
  const found: string[][] = [];
  const visit = (file: string): void => {
    const at = way.indexOf(file);
    if (at >= 0) found.push(way.slice(at));
    if (at >= 0 || done.has(file)) return;
    way.push(file);
    for (const next of importedBy(file)) visit(next);
    way.pop();
    done.add(file);
  };
  for (const file of files) visit(file);
  return found;
}

/** The pairs of folders that import each other. A folder may import from a folder inside it, and the other way round. */
function pairs(
  files: readonly string[],
  importedBy = (file: string) => filesImportedBy(join(ROOT, file)).map((to) => relative(ROOT, to)),
): string[] {
  const ways = new Set(files.flatMap((file) => importedBy(file).map((to) => `${dirname(file)} ${dirname(to)}`)));
  return [...ways]
    .map((way) => way.split(' ') as [string, string])
    .filter(([one, other]) => one < other && ways.has(`${other} ${one}`) && !other.startsWith(`${one}/`))
    .map(([one, other]) => `${one} and ${other}`)
    .sort();
}

describe('imports', () => {
  it('imports of the layers go one way', () => {
    const files = sources();
    expect(files.length).toBeGreaterThan(100);
    const problems = files.flatMap((file) =>
      importsOf(file, readFileSync(file, 'utf8')).flatMap((one) => problemOf(one) ?? []),
    );
    expect(problems).toEqual([]);
  });

  it('imports go in no circle, those of types included', () => {
    const found = circles(sources(), filesImportedBy);
    expect(found.map((circle) => circle.map((file) => relative(ROOT, file)))).toEqual([]);
  });

  it('imports lead one way between two folders, those of types included', () => {
    expect(pairs(sources().map((file) => relative(ROOT, file)))).toEqual([]);
  });

  it('folders that import each other are found, but for a folder and one inside it', () => {
    const imports: Record<string, string[]> = {
      'a/x.ts': ['b/y.ts', 'a/inside/z.ts'],
      'b/y.ts': ['c/w.ts'],
      'c/w.ts': [],
      'b/v.ts': ['a/u.ts'],
      'a/inside/z.ts': ['a/x.ts'],
    };
    expect(pairs(Object.keys(imports), (file) => imports[file] ?? [])).toEqual(['a and b']);
  });

  it('imports lead in no circle from one folder of the sandbox to another', () => {
    const folders = Map.groupBy(
      sources().filter((file) => file.includes('/src/sandbox/')),
      (file) => dirname(file),
    );
    expect(folders.size).toBeGreaterThan(10);
    const foldersUsedBy = (folder: string): string[] => {
      const used = (folders.get(folder) ?? []).flatMap((file) => filesImportedBy(file).map((to) => dirname(to)));
      return [...new Set(used)].filter((to) => to !== folder && folders.has(to));
    };
    const found = circles([...folders.keys()], foldersUsedBy);
    expect(found.map((circle) => circle.map((folder) => relative(ROOT, folder)))).toEqual([]);
  });

  it('imports in a circle are found', () => {
    const imports: Record<string, string[]> = { a: ['b'], b: ['c', 'd'], c: ['b'], d: [] };
    expect(circles(['a', 'b', 'c', 'd'], (file) => imports[file] ?? [])).toEqual([['b', 'c']]);
  });

  it('imports are found in every form, so that the check can fail', () => {
    const text = [
      "import { a } from '../ledger/schema.ts';",
      "import type {\n  B,\n} from '../queue/backend.ts';",
      "export * from '../web/page.ts';",
      "import '../cli/side-effect.ts';",
      "const c = await import('../daemon/runtime.ts');",
      "import Database from 'better-sqlite3';",
      "import { fine } from '../domain/item.ts';",
    ].join('\n');
    const problems = importsOf(join(ROOT, 'src/delivery/x.ts'), text).flatMap((one) => problemOf(one) ?? []);
    expect(problems).toHaveLength(6);
  });

  it('imports name a part of the ledger only where the process is put together, or in the ledger', () => {
    const whole = join(ROOT, 'src/domain/ports/ledger/ledger.ts');
    const users = sources().filter((file) => filesImportedBy(file).includes(whole));
    expect(users.map((file) => relative(ROOT, file)).sort()).toEqual([
      'src/daemon/runtime.ts',
      'src/ledger/sqlite-ledger.ts',
    ]);
  });

  it('imports leave the environment to the config', () => {
    const readers = sources().filter((file) => /process\.env\b/.test(readFileSync(file, 'utf8')));
    expect(readers.map((file) => relative(ROOT, file))).toEqual(['src/config/environment.ts']);
  });

  it('the library that draws documents is imported when the first one is drawn', () => {
    const early = sources().filter((file) => /^(?!import type).*\bfrom 'pdfkit'/m.test(readFileSync(file, 'utf8')));
    expect(early).toEqual([]);
  });

  it('imports stay within what connectors and sandbox are given', () => {
    const parts = new Set(sources().map(partOf));
    for (const part of parts) expect(Object.keys(ALLOWED), `a rule for ${part}`).toContain(part);
  });
});
