// Bundles the program into `dist`, a file for each part that commands load by themselves: `npm run build`. What a command
// needs then comes from a few files in place of some two hundred, which takes less time to find, read and link.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ChunkingContext, defineConfig, type Plugin } from 'rolldown';

/** Packages that become part of the bundle, since most commands load them. All others are loaded from node_modules. */
const BUNDLED = ['commander', 'yaml', 'zod'];

/** Their licences ask to go with every copy. */
const licences: Plugin = {
  name: 'licences',
  generateBundle() {
    const texts = BUNDLED.map((name) => {
      const folder = join(import.meta.dirname, 'node_modules', name);
      const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
      const [licence] = globSync('LICEN[CS]E*', { cwd: folder });
      if (licence === undefined) throw new Error(`The package ${name} brings no licence, so it cannot be bundled.`);
      return `${name} ${version}\n\n${readFileSync(join(folder, licence), 'utf8').trim()}\n`;
    });
    const source = `The files in this folder contain these packages.\n\n${texts.join(`\n${'-'.repeat(80)}\n\n`)}`;
    this.emitFile({ type: 'asset', fileName: 'THIRD-PARTY-LICENSES.txt', source });
  },
};

/** Puts the schema of the ledger beside the bundles. `src/ledger/schema.ts` reads it. */
const schema: Plugin = {
  name: 'schema',
  generateBundle() {
    const source = readFileSync(join(import.meta.dirname, 'src/ledger/schema.sql'), 'utf8');
    this.emitFile({ type: 'asset', fileName: 'schema.sql', source });
  },
};

/**
 * Writes characters beyond ASCII as escapes. V8 keeps the text of a file for as long as the program runs, and keeps it with two
 * bytes for each character where one of them needs two. Texts of `String.raw` are patterns here, in which an escape means the same.
 */
const ascii: Plugin = {
  name: 'ascii',
  generateBundle(_options, bundle) {
    for (const file of Object.values(bundle)) {
      if (file.type !== 'chunk') continue;
      file.code = file.code.replaceAll(
        /[\u0080-\uffff]/g,
        (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
      );
    }
  },
};

/**
 * The zod that the program itself uses. Only the SDK gives the whole of zod to others, so the texts of its forty languages are in
 * a chunk that the SDK alone loads.
 */
const OWN_ZOD = /\/node_modules\/zod\/v4\/(?:core\/(?!index)|classic\/(?!external)|locales\/en\.)/;

/** Parts of the program that are loaded on their own, with the files that begin them. */
const PARTS = {
  /** Help and the version. */
  main: ['src/main.ts'],
  /** A command that only reads the ledger. */
  look: ['src/cli/context.ts', 'src/cli/status.ts'],
  sdk: ['src/sdk/index.ts'],
  reader: ['src/ledger/reader/reader-thread.ts'],
};
const BEGINNINGS = new Map(
  Object.entries(PARTS).map(([part, files]) => [part, files.map((file) => join(import.meta.dirname, file))]),
);
const modules = new Map<string, ReadonlySet<string>>();

/** The modules of a part, without those that are loaded when they are used. */
function modulesOf(part: string, context: ChunkingContext): ReadonlySet<string> {
  const known = modules.get(part);
  if (known !== undefined) return known;
  const all = new Set(BEGINNINGS.get(part));
  // The set grows during this loop, which then reaches the new modules as well.
  for (const id of all) for (const next of context.getModuleInfo(id)?.importedIds ?? []) all.add(next);
  modules.set(part, all);
  return all;
}

/**
 * Modules that the same parts have become one chunk. So a part loads few files, and no module that it does not have. The modules
 * that more parts have are chosen first, because a chunk also takes what its modules import.
 */
const parts = [...BEGINNINGS.keys()].map((_, at) => ({
  debugName: `modules of ${BEGINNINGS.size - at} parts`,
  test: /\/(?:src|connectors)\//,
  name(id: string, context: ChunkingContext) {
    // The main module waits for the whole command, so it must not be in a chunk that a command imports.
    if ([...BEGINNINGS.values()].flat().includes(id)) return null;
    const having = [...BEGINNINGS.keys()].filter((part) => modulesOf(part, context).has(id));
    return having.length === BEGINNINGS.size - at ? `for-${having.join('-')}` : null;
  },
}));

export default defineConfig({
  // The SDK is part of the program, so that a connector and the program share one copy of it.
  input: {
    main: 'src/main.ts',
    sdk: 'src/sdk/index.ts',
    'sdk-testing': 'src/sdk/testing/index.ts',
    // Threads of their own, which are started by the names of their files.
    'reader-thread': 'src/ledger/reader/reader-thread.ts',
    'backup-thread': 'src/ledger/backup/backup-thread.ts',
    // And processes of their own.
    'copy-process': 'src/ledger/backup/copy-process.ts',
    'cases-process': 'src/daemon/cases/cases-process.ts',
  },
  platform: 'node',
  // Needed for a group without the modules that its modules import.
  preserveEntrySignatures: 'allow-extension',
  external: (id) => /^[@\w]/.test(id) && !BUNDLED.includes(id.split('/')[0] ?? ''),
  plugins: [licences, schema, ascii],
  output: {
    dir: 'dist',
    cleanDir: true,
    format: 'esm',
    // The licences of packages are in a file of their own.
    comments: false,
    entryFileNames: '[name].js',
    chunkFileNames: '[name].js',
    codeSplitting: {
      groups: [
        { name: 'zod', test: OWN_ZOD, includeDependenciesRecursively: false },
        ...BUNDLED.map((name) => ({
          name: name === 'zod' ? 'zod-whole' : name,
          test: new RegExp(`/node_modules/${name}/`),
        })),
        ...parts,
      ],
    },
  },
});
