import { loadBuiltIn } from '../../connectors/index.ts';
import { API_OPERATIONS } from '../../src/web/api/api-routes.ts';
import { openApiDocument } from '../../src/web/api/openapi.ts';
import { apiCoverage } from './api-coverage.ts';
import { cliPage } from './cli-page.ts';
import { casesJsonSchema, configJsonSchema, configReference } from './config-page.ts';
import { connectorPages } from './connector-pages.ts';
import { metricsPage } from './metrics-page.ts';
import { reliabilityMatrix } from './reliability-matrix.ts';
import { sandboxCoverage } from './sandbox-coverage.ts';
import { troubleshootingPage } from './troubleshooting-page.ts';

const connectors = await loadBuiltIn();

/** The files that are generated from the code, by their path in the repository. */
export function generatedFiles(): Record<string, string> {
  return {
    'config/dpp-sync.cases.schema.json': `${JSON.stringify(casesJsonSchema(), null, 2)}\n`,
    'config/dpp-sync.schema.json': `${JSON.stringify(configJsonSchema(connectors), null, 2)}\n`,
    'docs/admin-api.openapi.json': `${JSON.stringify(openApiDocument(API_OPERATIONS, '1'), null, 2)}\n`,
    'docs/api-coverage.md': apiCoverage(),
    'docs/api-coverage-sandbox.md': sandboxCoverage(),
    'docs/cli.md': cliPage(),
    ...connectorPages(connectors),
    'docs/configuration.md': configReference(connectors),
    'docs/metrics.md': metricsPage(),
    'docs/reliability.md': reliabilityMatrix(),
    'docs/troubleshooting.md': troubleshootingPage(),
  };
}
