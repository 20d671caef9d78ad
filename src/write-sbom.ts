// Writes a list of the packages that belong to dpp-sync (an SBOM, in the format CycloneDX 1.6) from package-lock.json:
// node src/write-sbom.ts FILE. The same lockfile always gives the same bytes, so the list has no serial number and no
// time. `npm sbom` adds both, and leaves out each package that a development dependency needs too.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface LockedPackage {
  version: string;
  integrity?: string;
  license?: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
}

/** `optional`: npm may leave the package out, or a person installs it for a source. */
type Scope = 'required' | 'optional';

/** The licences in the files of packages whose package.json names none in the form of today. */
const OTHER_LICENCES: Readonly<Record<string, string>> = {
  buildcheck: 'MIT',
  'cpu-features': 'MIT',
  'dejavu-fonts-ttf': 'Bitstream-Vera',
  'png-js': 'MIT',
  ssh2: 'MIT',
};

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('Name the file: node src/write-sbom.ts FILE');

const { packages } = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package-lock.json'), 'utf8')) as {
  packages: Record<string, LockedPackage & { name?: string }>;
};
const root = packageAt('');
const needed = neededPackages();
const paths = [...needed.keys()].toSorted((a, b) => (refOf(a) < refOf(b) ? -1 : 1));
// Several copies of one version, in several folders, are one component.
const first = new Map(paths.toReversed().map((path) => [refOf(path), path]));
const components = [...first.values()].toReversed().map(componentOf);
const sbom = {
  $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: {
    component: {
      type: 'application',
      'bom-ref': refOf(''),
      name: root.name,
      version: root.version,
      licenses: licencesOf(''),
      purl: purlOf(''),
    },
  },
  components,
  dependencies: ['', ...first.values()].map((path) => ({ ref: refOf(path), dependsOn: dependenciesOf(path) })),
};
writeFileSync(file, `${JSON.stringify(sbom, null, 2)}\n`);

function packageAt(path: string): LockedPackage & { name?: string } {
  const found = packages[path];
  if (found === undefined) throw new Error(`package-lock.json does not have ${path}.`);
  return found;
}

/** The packages that a package asks for, each with the folder in which npm has put it. */
function edgesOf(path: string): { to: string; scope: Scope }[] {
  const {
    dependencies = {},
    optionalDependencies = {},
    peerDependencies = {},
    peerDependenciesMeta = {},
  } = packageAt(path);
  const isOptional = (name: string) => name in optionalDependencies || peerDependenciesMeta[name]?.optional === true;
  const names = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
  return names.flatMap((name) => {
    // Optional peers of other packages are not installed. Those of dpp-sync are drivers that people install.
    if (path !== '' && peerDependenciesMeta[name]?.optional === true && !(name in dependencies)) return [];
    const to = folderOf(name, path);
    if (to === null && !isOptional(name)) throw new Error(`package-lock.json lacks ${name}, which ${path} needs.`);
    return to === null ? [] : [{ to, scope: isOptional(name) ? 'optional' : 'required' }];
  });
}

/** Searches node_modules of the package, and then those of the folders above it, as Node does. */
function folderOf(name: string, from: string): string | null {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const path = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    if (path in packages) return path;
    if (folder === '') return null;
  }
}

function neededPackages(): Map<string, Scope> {
  const found = new Map<string, Scope>();
  const visit = (path: string, scope: Scope): void => {
    for (const edge of edgesOf(path)) {
      const reached = scope === 'required' ? edge.scope : 'optional';
      const before = found.get(edge.to);
      if (before === 'required' || before === reached) continue;
      found.set(edge.to, reached);
      visit(edge.to, reached);
    }
  };
  visit('', 'required');
  return found;
}

function nameOf(path: string): string {
  return path === '' ? (root.name ?? '') : path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

function refOf(path: string): string {
  return `${nameOf(path)}@${packageAt(path).version}`;
}

function purlOf(path: string): string {
  return `pkg:npm/${nameOf(path).replace('@', '%40')}@${packageAt(path).version}`;
}

function dependenciesOf(path: string): string[] {
  return [...new Set(edgesOf(path).map(({ to }) => refOf(to)))].toSorted();
}

function licencesOf(path: string): object[] {
  const licence = OTHER_LICENCES[nameOf(path)] ?? packageAt(path).license;
  if (licence === undefined)
    throw new Error(`${nameOf(path)} names no licence. Read it, and add it to src/write-sbom.ts.`);
  return [/^[\w.-]+$/.test(licence) ? { license: { id: licence } } : { expression: licence }];
}

function componentOf(path: string): object {
  const [, algorithm = '', digest = ''] = /^(sha\d+)-(\S+)$/.exec(packageAt(path).integrity ?? '') ?? [];
  return {
    type: 'library',
    'bom-ref': refOf(path),
    name: nameOf(path),
    version: packageAt(path).version,
    scope: needed.get(path),
    hashes: [{ alg: algorithm.replace('sha', 'SHA-'), content: Buffer.from(digest, 'base64').toString('hex') }],
    licenses: licencesOf(path),
    purl: purlOf(path),
  };
}
