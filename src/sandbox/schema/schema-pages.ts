import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import type { OperationName } from '../api/endpoints.ts';
import type { Document, Operation } from '../api/operation.ts';
import type { SandboxSettings } from '../settings/settings.ts';
import { describeApi } from './openapi.ts';

/**
 * The pages that describe the API, by path. They show the settings of the sandbox and no stored data. They are written
 * when the first of them is asked for, because most sandboxes are never asked.
 */
export function createSchemaPages(
  operations: Record<OperationName, Operation>,
  settings: SandboxSettings,
): Record<string, () => Document> {
  let written: { json: Document; html: Document } | null = null;
  function pages(): { json: Document; html: Document } {
    const description = describeApi(operations, settings);
    const json = `${JSON.stringify(description, null, 2)}\n`;
    return {
      json: { type: 'application/json', bytes: Buffer.from(json) },
      html: { type: 'text/html; charset=utf-8', bytes: Buffer.from(readablePage(description)) },
    };
  }
  return {
    '/api/schema/': () => (written ??= pages()).json,
    '/api/docs/': () => (written ??= pages()).html,
  };
}

const STYLE = `
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1c1e21; }
  h2 { margin-top: 2.5rem; border-top: 1px solid #d5d9de; padding-top: 1rem; font-size: 1.2rem; }
  code, pre { font: 13px/1.45 ui-monospace, monospace; background: #f2f4f7; border-radius: 4px; }
  code { padding: 0.1rem 0.3rem; }
  pre { padding: 0.8rem; overflow-x: auto; }
  summary { cursor: pointer; }
  @media (prefers-color-scheme: dark) {
    body { background: #16181c; color: #e4e6ea; } code, pre { background: #23262c; } h2 { border-color: #3a3f47; } a { color: #8ab4f8; }
  }`;

/** One page without scripts and without anything from another server. */
function readablePage(description: JsonObject): string {
  const info = objectAt(description, 'info');
  const operations = Object.entries(objectAt(description, 'paths')).flatMap(([path, methods]) =>
    isJsonObject(methods)
      ? Object.entries(methods).map(([method, operation]) => ({ path, method, operation: operation as JsonObject }))
      : [],
  );
  const title = textAt(info, 'title');
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escape(title)}</title>
<style>${STYLE}
</style>
<h1>${escape(title)}</h1>
<p>${escape(textAt(info, 'description'))} The same for machines: <a href="/api/schema/">OpenAPI 3.1</a>.</p>
<ul>
${operations.map(({ operation }) => `<li><a href="#${anchorOf(operation)}">${escape(textAt(operation, 'summary'))}</a>`).join('\n')}
</ul>
${operations.map(section).join('\n')}
</html>
`;
}

function section({ path, method, operation }: { path: string; method: string; operation: JsonObject }): string {
  const body = objectAt(objectAt(objectAt(operation, 'requestBody'), 'content'), 'application/json')['schema'];
  const responses = Object.entries(objectAt(operation, 'responses')).map(([status, response]) => {
    const content = isJsonObject(response) ? Object.entries(objectAt(response, 'content')) : [];
    const [type = '', media] = content[0] ?? [];
    const schema = isJsonObject(media) ? media['schema'] : undefined;
    return status.startsWith('2') && schema !== undefined
      ? detail(`Answer ${status}, ${type}`, schema)
      : `<p>Answer ${escape(status)}${status.startsWith('2') ? `, ${escape(type)}` : ''}: ${escape(textAt(response, 'description'))}</p>`;
  });
  const { parameters } = operation;
  return `<section id="${anchorOf(operation)}">
<h2>${escape(textAt(operation, 'summary'))}</h2>
<p><code>${escape(method.toUpperCase())} ${escape(path)}</code></p>
<p>${escape(textAt(operation, 'description'))}</p>
${parameters === undefined ? '' : detail('Parameters', parameters)}
${body === undefined ? '' : detail('Request body', body)}
${responses.join('\n')}
</section>`;
}

function detail(title: string, schema: JsonValue): string {
  return `<details><summary>${escape(title)}</summary><pre>${escape(JSON.stringify(schema, null, 2))}</pre></details>`;
}

function anchorOf(operation: JsonObject): string {
  return escape(textAt(operation, 'operationId'));
}

function objectAt(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  return value !== undefined && isJsonObject(value) ? value : {};
}

function textAt(object: JsonValue, name: string): string {
  const value = isJsonObject(object) ? object[name] : undefined;
  return typeof value === 'string' ? value : '';
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
