import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { API_KEY } from './contender.ts';

export interface SandboxProcess {
  baseUrl: string;
  controlUrl: string;
  stop(): void;
}

const ROOT = join(import.meta.dirname, '../../..');

/**
 * Starts the sandbox in a separate process, with the key of the benchmarks.
 *
 * @param settings each in the form of `--set`
 */
export async function startSandbox(settings: readonly string[], latencyMs: number): Promise<SandboxProcess> {
  const sets = settings.flatMap((one) => ['--set', one]);
  const fault = ['--fault', `*:latency=${latencyMs}`];
  const args = ['src/main.ts', 'sandbox', '--port', '0', '--control-port', '0', '--json', ...fault, ...sets];
  const child: ChildProcess = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
  if (!child.stdout) throw new Error('The sandbox has no output.');
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const { baseUrl, controlUrl } = JSON.parse(line) as { baseUrl: string; controlUrl: string };
  const answer = await fetch(`${controlUrl}/organizations`);
  const { organizations } = (await answer.json()) as { organizations: { name: string }[] };
  const key = {
    organization: organizations[0]?.name,
    name: 'bench',
    scopes: ['read', 'write', 'publish'],
    key: API_KEY,
  };
  const headers = { 'content-type': 'application/json' };
  const made = await fetch(`${controlUrl}/keys`, { method: 'POST', headers, body: JSON.stringify(key) });
  if (!made.ok) throw new Error(await made.text());
  return { baseUrl, controlUrl, stop: () => void child.kill() };
}
