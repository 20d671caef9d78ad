import { Agent, request } from 'undici';
import { expect, onTestFinished } from 'vitest';
import { OPERATION_NAMES } from '../../../src/sandbox/api/endpoints.ts';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts';
import { refusalsOf } from '../../../src/sandbox/schema/answers.ts';
import { type SandboxOptions, SandboxSettings } from '../../../src/sandbox/settings/settings.ts';
import { createManualClock, type ManualClock } from '../time/manual-clock.ts';

/** The members that tests use. Nothing guarantees them: the assertions of the tests check whether they are there. */
export interface AnswerBody {
  [name: string]: unknown;
  id: number;
  detail: string;
  count: number;
  next: string | null;
  results: Record<string, unknown>[];
}

/** An answer with its parsed body. `body` is null if the body is not JSON. `text` is the unparsed body. */
export interface CallAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: AnswerBody;
  text: string;
}

export interface CallOptions {
  /** A text is sent unchanged, and any other value as JSON. */
  body?: unknown;
  key?: string | null;
  headers?: Record<string, string>;
}

export type Call = (method: string, path: string, options?: CallOptions) => Promise<CallAnswer>;

/** A sandbox that listens, a key of the organisation "acme" with every scope, and a client over real HTTP. */
export interface RunningSandbox {
  sandbox: Sandbox;
  baseUrl: string;
  key: string;
  clock: ManualClock;
  call: Call;
}

/**
 * Starts a sandbox and closes it when the test ends. The test fails if the sandbox refused a request with a status that
 * its OpenAPI description does not contain.
 */
export async function startSandbox(
  options: SandboxOptions = {},
  clock: ManualClock = createManualClock(),
): Promise<RunningSandbox> {
  const sandbox = await createSandbox(options, { clock });
  const agent = new Agent({ connections: 20 });
  onTestFinished(async () => {
    await agent.destroy();
    await sandbox.close();
    expect(undescribedRefusals(sandbox, options)).toEqual([]);
  });
  const baseUrl = await sandbox.listen();
  const { key } = sandbox.issueKey({ organization: 'acme', name: 'test', scopes: ['read', 'write', 'publish'] });

  const call: Call = async (method, path, { body, key: given = key, headers = {} } = {}) => {
    const answer = await request(`${baseUrl}${path}`, {
      method: method as 'GET',
      dispatcher: agent,
      headers: {
        accept: 'application/json',
        ...(given !== null && { 'x-api-key': given }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && {
        body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
      }),
    });
    const text = await answer.body.text();
    const isJson = /[/+]json/.test(String(answer.headers['content-type']));
    return {
      status: answer.statusCode,
      headers: answer.headers,
      body: (isJson && text !== '' ? JSON.parse(text) : null) as AnswerBody,
      text,
    };
  };
  return { sandbox, baseUrl, key, clock, call };
}

/**
 * Refusals in the journal whose status the description does not contain. Answers of injected faults and failures are
 * not described.
 */
function undescribedRefusals(sandbox: Sandbox, options: SandboxOptions): string[] {
  const settings = SandboxSettings.parse(options);
  const { requests, faults } = sandbox.statistics();
  const isFault = (status: string) =>
    faults.some(({ rule }) => 'status' in rule && String(rule.status) === status) || status.startsWith('5');
  return OPERATION_NAMES.flatMap((operation) => {
    const described = refusalsOf(operation, settings);
    const refused = Object.keys(requests[operation] ?? {}).filter((ending) => /^[45]/.test(ending) && !isFault(ending));
    return refused.filter((status) => !described.has(Number(status))).map((status) => `${operation} ${status}`);
  });
}
