import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  dependencies: Record<string, string>;
};

let close: () => void = () => undefined;
afterEach(() => close());

/** The npm of this machine with a double of its registry, since the real one's advisories change from day to day. */
async function audit(answer: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>) {
  const server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  close = () => server.close();
  await new Promise((resolve) => server.once('listening', resolve));
  const registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return new Promise<{ code: unknown; stdout: string }>((resolve) => {
    const env = { ...process.env, npm_config_registry: registry };
    execFile('npm', ['run', '-s', 'audit:deps'], { cwd: ROOT, env }, (error, stdout) =>
      resolve({ code: error?.code ?? 0, stdout }),
    );
  });
}

const advisory = (id: number, severity: string, range: string) => ({
  id,
  severity,
  title: `Advisory ${id}`,
  url: `https://advisories.example/${id}`,
  vulnerable_versions: range,
});

/** Answers like npm's bulk endpoint. `asked` gets the packages of each request. */
function advising(
  advisories: Record<string, object[]>,
  asked: (packages: Record<string, string[]>) => void = () => {},
) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request);
    if (request.url !== '/-/npm/v1/security/advisories/bulk') {
      response.writeHead(404).end('{}');
      return;
    }
    const text = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
    asked(JSON.parse(text.toString()) as Record<string, string[]>);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(advisories));
  };
}

describe('npm run audit:deps', () => {
  it('npm run audit:deps ends with 0 where no advisory is about the installed versions, having asked about each', async () => {
    let asked: Record<string, string[]> = {};
    const earlier = { undici: [advisory(1, 'critical', `<${dependencies['undici']}`)] };
    const { code, stdout } = await audit(
      advising(earlier, (packages) => {
        asked = packages;
      }),
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^No advisory .* \d+ packages\.\n$/) });
    for (const [name, version] of Object.entries(dependencies)) expect(asked[name]).toContain(version);
  });

  it('npm run audit:deps ends with 1 and a table of the advisories of moderate or higher severity', async () => {
    const { code, stdout } = await audit(
      advising({
        undici: [advisory(1, 'critical', `<=${dependencies['undici']}`), advisory(2, 'low', '>=1')],
        valibot: [advisory(3, 'moderate', '>=1.0.0')],
      }),
    );
    expect(code).toBe(1);
    expect(stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['severity', 'versions', 'advisory', 'address', 'installed as'],
      [
        'critical',
        `undici <=${dependencies['undici']}`,
        'Advisory 1',
        'https://advisories.example/1',
        'node_modules/undici',
      ],
      ['moderate', 'valibot >=1.0.0', 'Advisory 3', 'https://advisories.example/3', 'node_modules/valibot'],
      [''],
    ]);
  });

  it('npm run audit:deps ends with 3 and a sentence where the registry has no advisories to give', async () => {
    const { code, stdout } = await audit((_request, response) => void response.writeHead(405).end());
    expect(code).toBe(3);
    expect(stdout).toMatch(/^The dependencies were not checked, .*405 Method Not Allowed.*\.\nRun this where npm/);
  });
});
