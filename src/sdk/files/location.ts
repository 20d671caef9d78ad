import { dirname, join, posix, sep } from 'node:path';
import { isLoopback } from '../../lib/loopback.ts';
import { sourceFault } from '../connector.ts';

const REMOTE_SCHEMES = ['https', 'http', 'sftp', 'ftp', 'ftps', 's3'] as const;
type RemoteScheme = (typeof REMOTE_SCHEMES)[number];

const USUAL_PORTS: Readonly<Record<RemoteScheme, number | null>> = {
  https: 443,
  http: 80,
  sftp: 22,
  ftp: 21,
  ftps: 990,
  s3: null,
};

/** The address of a server in a path. */
export interface ServerAddress {
  scheme: RemoteScheme;
  /** The name of the host, or of the bucket. */
  host: string;
  /** Null for the usual port. */
  port: number | null;
}

/** The parts of a stream's `path`. */
export interface Location {
  /** The path in the form that may be shown: without the query of a web address. */
  pattern: string;
  /** Null for this machine. */
  server: ServerAddress | null;
  /**
   * The fixed folder, and in `segments` the names below it. Without a wildcard, `segments` only has the file's name.
   */
  folder: string;
  segments: readonly string[];
  isPattern: boolean;
  /** The form of a path in messages. */
  label: (path: string) => string;
  /** The path of a name below the folder. */
  pathOf(name: string): string;
  /** The folder of the config's `archive`. */
  resolveFolder(folder: string): string;
}

/** @throws a `sourceFault` for an address that cannot be used, or holds a password */
export function locate(pattern: string, resolvePath: (path: string) => string): Location {
  const address = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)([\s\S]*)$/.exec(pattern);
  if (address === null) return locateHere(pattern, resolvePath);
  const [, scheme = '', authority = '', rest = ''] = address;
  return locateThere(scheme.toLowerCase(), authority, rest);
}

function locateHere(pattern: string, resolvePath: (path: string) => string): Location {
  const segments = pattern.split(sep === '/' ? '/' : /[\\/]/);
  const wild = segments.findIndex(isWild);
  const common = { pattern, server: null, label: (path: string) => path, resolveFolder: resolvePath };
  if (wild === -1) {
    const path = resolvePath(pattern);
    const own = segments.at(-1) ?? pattern;
    const pathOf = (name: string) => (name === own ? path : join(dirname(path), name));
    return { ...common, folder: path, segments: [own], isPattern: false, pathOf };
  }
  const folder = resolvePath(segments.slice(0, wild).join('/') || (wild === 0 ? '.' : '/'));
  return {
    ...common,
    folder,
    segments: segments.slice(wild),
    isPattern: true,
    pathOf: (name) => join(folder, name),
  };
}

function locateThere(scheme: string, authority: string, rest: string): Location {
  const server = serverOf(scheme, authority);
  const base = `${scheme}://${server.host}${server.port === null ? '' : `:${server.port}`}`;
  if (server.scheme === 'https' || server.scheme === 'http') return locateDownload(server, base, rest);
  const segments = rest.split('/').slice(1);
  const wild = segments.findIndex(isWild);
  const at = wild === -1 ? segments.length - 1 : wild;
  if (segments.length === 0 || segments.at(-1) === '') {
    throw sourceFault(`The path ${base}${rest} names no file.`, {
      suggestion: 'Write the folders and the file, as in sftp://files.example.com/exports/products-*.csv.',
    });
  }
  // `~` is the folder in which a session on the server begins.
  const isHome = segments[0] === '~';
  const fixed = segments.slice(isHome ? 1 : 0, at).join('/');
  const folder = server.scheme === 's3' ? fixed : isHome ? `./${fixed}`.replace(/\/$/, '') : `/${fixed}`;
  const slash = (path: string) => (path.startsWith('/') ? path : `/${path.replace(/^\.(?=\/|$)/, '~')}`);
  return {
    pattern: `${base}${rest}`,
    server,
    folder,
    segments: segments.slice(at),
    isPattern: wild !== -1,
    label: (path) => base + slash(path),
    pathOf: (name) => joined(folder, name),
    resolveFolder: (inner) => resolveThere(server.scheme, folder, inner),
  };
}

/**
 * The path of a folder on the server. The folder is relative to `from`, or absolute. The keys of a bucket begin without
 * a slash.
 */
function resolveThere(scheme: RemoteScheme, from: string, folder: string): string {
  const path = posix.normalize(folder.startsWith('/') ? folder : joined(from, folder));
  if (scheme === 's3') return path.replace(/^\/|^\.$/, '');
  return path.startsWith('/') ? path : `./${path}`;
}

/** Joins without `posix.join`, which would remove the `./` at the beginning of a path relative to the login folder. */
function joined(folder: string, name: string): string {
  return folder === '' ? name : `${folder.replace(/\/$/, '')}/${name}`;
}

function serverOf(scheme: string, authority: string): ServerAddress {
  if (!isRemoteScheme(scheme)) {
    throw sourceFault(`The path begins with ${scheme}://, which is not supported.`, {
      suggestion: `Write a path on this machine, or a path that begins with ${REMOTE_SCHEMES.filter((one) => one !== 'http').join('://, ')}://.`,
    });
  }
  // The text before the @ may be a password, so no part of the address is shown.
  if (authority.includes('@')) {
    throw sourceFault(
      `A path that begins with ${scheme}:// has a user or a password. Messages show paths, so they would also show the user or the password.`,
      {
        suggestion:
          "Remove the part before the @ from the path, and write the user and the password into the source's `options.access`.",
      },
    );
  }
  const [, host = '', port] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(authority) ?? [];
  if (host === '') {
    throw sourceFault(`The path ${scheme}://${authority} names no host that can be used.`, {
      suggestion:
        'Write the host, such as files.example.com. Add the port if it is not the usual one: files.example.com:2222.',
    });
  }
  if (scheme === 'http' && !isLoopback(host)) {
    throw sourceFault(`${scheme}://${authority} is not encrypted, so others on the network could change the export.`, {
      suggestion: 'Use https://. Plain http:// is accepted only for this machine.',
    });
  }
  // A usual port is left out, so that a server always has the same address. Two streams can then recognise that they
  // read the same file.
  const isUsual = port === undefined || Number(port) === USUAL_PORTS[scheme];
  return { scheme, host: scheme === 's3' ? host : host.toLowerCase(), port: isUsual ? null : Number(port) };
}

function isRemoteScheme(scheme: string): scheme is RemoteScheme {
  return (REMOTE_SCHEMES as readonly string[]).includes(scheme);
}

/** A web address names one file. Its query may contain a key, so the query is never shown. */
function locateDownload(server: ServerAddress, base: string, rest: string): Location {
  const [path = ''] = rest.split(/[?#]/, 1);
  const pattern = base + path;
  if (path.includes('*')) {
    throw sourceFault(`The path ${pattern} contains *, but a web server cannot be asked which files it has.`, {
      suggestion: 'Name one file.',
    });
  }
  const name = path.split('/').at(-1) ?? '';
  return {
    pattern,
    server,
    folder: base + rest.replace(/#[\s\S]*$/, ''),
    segments: [name === '' ? server.host : name],
    isPattern: false,
    label: (address) => address.replace(/[?#][\s\S]*$/, ''),
    pathOf: () => base + rest.replace(/#[\s\S]*$/, ''),
    resolveFolder: (folder) => folder,
  };
}

// Patterns of paths: `*` and `?` stand for characters within one name; nothing else is special.

/** Selects the entries of a folder that are wanted. */
export interface NameFilter {
  /** The beginning of all wanted names: some servers can list only names with a prefix. */
  prefix: string;
  kind: 'file' | 'folder';
  matches(name: string): boolean;
}

/**
 * True for a name that a pattern matches only if it begins like such a name itself: of a hidden file, and of the file that
 * Excel has beside a workbook while somebody has it open.
 */
export function isHiddenName(name: string): boolean {
  return name.startsWith('.') || name.startsWith('~$');
}

function isWild(segment: string): boolean {
  return segment.includes('*') || segment.includes('?');
}

/**
 * @param kind `file` for the last segment of a pattern, `folder` for the others
 * @throws a `sourceFault` for `**`
 */
export function filterOf(segment: string, kind: NameFilter['kind'], pattern: string): NameFilter {
  if (segment.includes('**')) {
    throw sourceFault(`The path ${pattern} contains **, which is not supported.`, {
      suggestion: 'Name the folders, with * for each level whose name varies.',
    });
  }
  // Other characters may have another form in the name.
  const prefix = /^[\x20-\x7e]*/.exec(composed(segment).replace(/[*?].*$/s, ''))?.[0] ?? '';
  const matches = matcherOf(segment);
  const isHidden = (name: string) => isHiddenName(name) && !isHiddenName(segment);
  return { prefix, kind, matches: (name) => !isHidden(name) && matches(name) };
}

/** True if the pattern matches a name below its fixed folders. */
export function matchesSegments(name: string, segments: readonly string[]): boolean {
  const names = name.split('/');
  return (
    names.length === segments.length &&
    names.every((one, at) => filterOf(segments[at] ?? '', 'file', name).matches(one))
  );
}

/** Programs of macOS write an accent as a character of its own, so the same name may have two forms. */
function composed(name: string): string {
  return name.normalize('NFC');
}

/** Compares texts with a text that may have wildcards. */
export function matcherOf(segment: string): (text: string) => boolean {
  const source = composed(segment)
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*+/g, '.*')
    .replaceAll('?', '.');
  const expression = new RegExp(`^${source}$`, 's');
  return (text) => expression.test(text) || expression.test(composed(text));
}
