import { fault } from '../../domain/faults.ts';
import { messageOf } from '../../lib/errors.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';

const TIMEOUT_MS = 10_000;
const START = 'Start the sandbox with --control-port, and name the address that it prints with --control.';

/**
 * Asks the control endpoint of a sandbox that is running.
 *
 * @param request a request with a `body` is a POST, and any other request is a GET
 * @throws Fault `sandbox.control` if no sandbox answers there, `sandbox.refused` if the sandbox refuses the request
 */
export async function askControl(
  baseUrl: string,
  { path, body, signal }: { path: string; body?: object; signal: AbortSignal },
): Promise<JsonObject> {
  const url = URL.parse(path, baseUrl);
  if (url === null) throw fault('usage', `${baseUrl} is not the address of a control endpoint.`, { suggestion: START });
  const sent =
    body === undefined
      ? {}
      : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  let status: number;
  let answer: unknown;
  try {
    const response = await fetch(url, { ...sent, signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]) });
    status = response.status;
    answer = await response.json();
  } catch (error) {
    signal.throwIfAborted();
    throw fault('sandbox.control', `No control endpoint of a sandbox answers at ${baseUrl}: ${messageOf(error)}.`, {
      suggestion: START,
      cause: error,
    });
  }
  const shown = isJsonObject(answer) ? (answer as JsonObject) : {};
  if (status === 200) return shown;
  const { detail } = shown;
  throw fault('sandbox.refused', `The sandbox refuses: ${typeof detail === 'string' ? detail : `HTTP ${status}`}`);
}

/** @throws Fault `sandbox.control` if the answer does not have the text, because then another program answers there */
export function textIn(answer: JsonObject, name: string): string {
  const text = answer[name];
  if (typeof text === 'string') return text;
  throw fault('sandbox.control', `The server at this address is not a sandbox: its answer has no ${name}.`, {
    suggestion: START,
  });
}
