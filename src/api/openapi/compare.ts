import { kindOf } from '../../domain/delivery/operation.ts';
import type { Profile } from '../../domain/profile.ts';
import { ok, type Result } from '../../lib/errors.ts';
import { createSecretStore } from '../../lib/logging/secrets.ts';
import { createCleanText } from '../answers/answer-text.ts';
import { ENDPOINTS } from '../endpoints.ts';
import { checkAnswers, checkEnvelope } from './check-answers.ts';
import { checkFields, checkImport } from './check-fields.ts';
import { checkRequests } from './check-requests.ts';
import { readOpenApi, requestBodyOf } from './document.ts';
import { type Difference, matchEndpoints, type Report, reportUnread } from './match.ts';
import { createSchemaReader } from './schema.ts';

const DIFFERENCES_MAX = 500;
const TEXT_LENGTH_MAX = 200;
const WRITES = ['product.create', 'bom_item.create', 'material.create', 'material.update'] as const;

/**
 * Compares an OpenAPI 3.x document, as JSON or YAML, with the endpoint table and a profile. Reports each difference, whether it breaks
 * requests, and which setting fixes it. A fact that the document does not state is not reported. A part that cannot be read
 * (references to other files, circles) is reported as such. Pure. Reports at most 500 differences, those that break requests first.
 *
 * @returns the differences, or a sentence that says why the document cannot be read
 */
export function compareOpenApi(text: string, profile: Profile): Result<Difference[], string> {
  const read = readOpenApi(text);
  if (!read.ok) return read;
  const document = read.value;
  const schemas = createSchemaReader(document);
  const differences = new Map<string, Difference>();
  const clean = createCleanText(createSecretStore());
  const report: Report = (difference) => {
    if (differences.size >= DIFFERENCES_MAX) return;
    const found = clean(difference.found, TEXT_LENGTH_MAX);
    const shown = { ...difference, what: clean(difference.what, TEXT_LENGTH_MAX), found };
    // One setting applies to a create, an update and an import. It is reported once.
    const key = [shown.setting === undefined ? shown.path : '', shown.what, found, shown.expected, shown.setting ?? ''];
    differences.set(JSON.stringify(key), differences.get(JSON.stringify(key)) ?? shown);
  };

  const matches = matchEndpoints(document, report);
  checkRequests(document, matches, profile, report);
  for (const name of WRITES) {
    const operation = matches.get(name);
    if (operation === undefined) continue;
    const { method, path } = ENDPOINTS[name];
    const at: Report = (difference) => report({ ...difference, path: `${method} ${path}` });
    const telling = schemas.reporting((why) => reportUnread(at, { what: 'request body', why }));
    const tools = { profile, schemas: telling, report: at };
    const { schema } = requestBodyOf(operation, document);
    checkFields(name, checkEnvelope(kindOf(name), schema, tools), tools);
  }
  checkImport(document, matches, { profile, schemas, report });
  checkAnswers(document, matches, { profile, schemas, report });
  const all = [...differences.values()];
  const order = ['breaks', 'unread', 'note'] as const;
  return ok(order.flatMap((weight) => all.filter((difference) => difference.weight === weight)));
}
