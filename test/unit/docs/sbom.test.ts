import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');

interface Component {
  'bom-ref': string;
  name: string;
  version: string;
  scope: 'required' | 'optional';
  hashes: { alg: string; content: string }[];
  licenses: { license?: { id: string }; expression?: string }[];
  purl: string;
}
interface Sbom {
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

function writeSbom(): string {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-sbom-'));
  const file = join(folder, 'sbom.json');
  execFileSync(process.execPath, [join(ROOT, 'src/write-sbom.ts'), file]);
  const text = readFileSync(file, 'utf8');
  rmSync(folder, { recursive: true });
  return text;
}

const text = writeSbom();
const { components, dependencies } = JSON.parse(text) as Sbom;

it('the list of packages is the same twice, without a serial number and a time', () => {
  expect(writeSbom()).toBe(text);
  expect(text).not.toMatch(/serialNumber|timestamp/);
});

it('the list of packages has each package that an installation without development packages has, and the driver of SQL Server', () => {
  type Locked = Record<string, { version: string; dev?: boolean; devOptional?: boolean; optional?: boolean }>;
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as { packages: Locked };
  const installed = Object.entries(packages)
    // The TypeScript compiler is a development package, and an optional peer of another package.
    .filter(([path, { dev }]) => path !== '' && dev !== true && !/node_modules\/@?typescript(?:$|\/)/.test(path))
    .map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`);
  const listed = components.map((component) => component['bom-ref']);
  expect(listed).toEqual([...new Set(listed)].toSorted());
  expect(installed.filter((ref) => !listed.includes(ref))).toEqual([]);
  const beyond = components.filter((component) => !installed.includes(component['bom-ref']));
  expect(beyond.filter(({ scope }) => scope !== 'optional')).toEqual([]);
  expect(beyond.map(({ name }) => name)).toEqual(expect.arrayContaining(['mssql', 'tedious', '@azure/identity']));
});

it('the list of packages has the licence, the hash and the packages of each package', () => {
  for (const component of components) {
    const [licence] = component.licenses;
    expect(licence?.license?.id ?? licence?.expression, component.name).toMatch(/^[\w .()-]+$/);
    expect(component.hashes, component.name).toEqual([
      { alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) },
    ]);
    expect(component.purl).toBe(`pkg:npm/${component.name.replace('@', '%40')}@${component.version}`);
  }
  const refs = new Set(components.map((component) => component['bom-ref']));
  expect(dependencies).toHaveLength(components.length + 1);
  expect(dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !refs.has(ref))).toEqual([]);
});
