import { describe, expect, it } from 'vitest';
import { locate } from '../../../src/sdk/files/location.ts';

const here = (path: string) => locate(path, (relative) => `/config/${relative}`);

describe('a path that names a server', () => {
  it('a path that names a server is taken apart into the fixed folder and the pattern', () => {
    expect(here('sftp://files.example.com/out/*/x-?.csv')).toMatchObject({
      server: { scheme: 'sftp', host: 'files.example.com', port: null },
      folder: '/out',
      segments: ['*', 'x-?.csv'],
      isPattern: true,
    });
    expect(here('s3://bucket/out/x.csv')).toMatchObject({ folder: 'out', segments: ['x.csv'], isPattern: false });
    expect(here('s3://bucket/*.csv')).toMatchObject({ folder: '', segments: ['*.csv'] });
  });

  it('a path that names a server may begin in the folder of the login', () => {
    const home = here('sftp://files.example.com/~/out/x.csv');
    expect(home.pathOf('x.csv')).toBe('./out/x.csv');
    expect(home.label('./out/x.csv')).toBe('sftp://files.example.com/~/out/x.csv');
    expect(here('ftp://files.example.com/~/x.csv').pathOf('x.csv')).toBe('./x.csv');
  });

  it('a path that names a server is the same with the usual port written out, or capitals in the host', () => {
    const label = (path: string) => here(path).label('/x.csv');
    expect(label('SFTP://Files.example.com:22/x.csv')).toBe('sftp://files.example.com/x.csv');
    expect(label('sftp://files.example.com:2222/x.csv')).toBe('sftp://files.example.com:2222/x.csv');
  });

  it('a path that names a server is refused with a user or a password in it, of which nothing is shown', () => {
    for (const path of ['sftp://joe:se@same@host/x.csv', 'ftp://joe@host/x.csv', 'https://joe:secret@host/x.csv']) {
      let error: unknown;
      try {
        here(path);
      } catch (reason) {
        error = reason;
      }
      expect(error).toMatchObject({
        code: 'source.unreadable',
        message: expect.stringContaining('has a user or a password'),
        suggestion: expect.stringContaining('`options.access`'),
      });
      expect(String(error)).not.toMatch(/joe|same|secret/);
    }
  });

  it.each([
    ['gopher://host/x.csv', 'begins with gopher://, which is not supported'],
    ['http://files.example.com/x.csv', 'http://files.example.com is not encrypted'],
    ['https://files.example.com/*.csv', 'a web server cannot be asked which files it has'],
    ['sftp:///x.csv', 'names no host'],
    ['sftp://host:ssh/x.csv', 'names no host that can be used'],
    ['sftp://host/folder/', 'names no file'],
  ])('a path that names a server is refused as %s', (path, message) => {
    expect(() => here(path)).toThrow(message);
  });

  it('a path that names a server may be http on this machine', () => {
    expect(here('http://127.0.0.1:8080/x.csv?a=b').pathOf('')).toBe('http://127.0.0.1:8080/x.csv?a=b');
  });

  it('a path that names a server takes its archive relative to the folder of the files, or from the top', () => {
    const folder = (path: string, archive: string) => here(path).resolveFolder(archive);
    expect(folder('sftp://host/out/*.csv', 'read')).toBe('/out/read');
    expect(folder('sftp://host/out/*.csv', '../read')).toBe('/read');
    expect(folder('sftp://host/out/*.csv', '/read')).toBe('/read');
    expect(folder('s3://bucket/out/*.csv', '/read')).toBe('read');
    expect(folder('s3://bucket/*.csv', 'read')).toBe('read');
  });
});

describe('a path of this machine', () => {
  it('a path of this machine is relative to the config file', () => {
    expect(here('exports/*.csv')).toMatchObject({ server: null, folder: '/config/exports', segments: ['*.csv'] });
    expect(here('exports/x.csv').pathOf('x.csv')).toBe('/config/exports/x.csv');
  });
});
