// The OData services of SAP that the presets read, on SAP's own OData implementation for tests of Fiori applications.

import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type mockserver from '@sap-ux/fe-mockserver-core';
import type { JsonObject } from '../../../src/lib/json.ts';
import { endServer, listenLocally } from '../../support/servers/local-server.ts';

// The package is CommonJS, and its class is a member `default` of what it exports.
const { default: Mockserver } = createRequire(import.meta.url)('@sap-ux/fe-mockserver-core') as typeof mockserver;

const SERVICES = {
  'product-v2': '/sap/opu/odata/sap/API_PRODUCT_SRV',
  'product-v4': '/sap/opu/odata4/sap/api_product/srvd_a2x/sap/product/0002',
  'bom-v2': '/sap/opu/odata/sap/API_BILL_OF_MATERIAL_SRV;v=0002',
};
type Service = keyof typeof SERVICES;

/** @param rows the rows of each entity set of each service; the files with them are written into the folder */
export async function startFeMockserver(folder: string, rows: Record<Service, Record<string, JsonObject[]>>) {
  const services = Object.entries(SERVICES).map(([name, urlPath]) => {
    const mockdataPath = join(folder, name);
    mkdirSync(mockdataPath, { recursive: true });
    for (const [set, content] of Object.entries(rows[name as Service])) {
      writeFileSync(join(mockdataPath, `${set}.json`), JSON.stringify(content));
    }
    const metadataPath = join(import.meta.dirname, `sap-services/${name}.xml`);
    return { name, urlPath, metadataPath, mockdataPath, generateMockData: false, watch: false };
  });
  const mock = new Mockserver({ services, annotations: [] } as never);
  await mock.isReady;
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? '');
    mock.getRouter()(request, response, () => response.writeHead(404).end());
  });
  const base = await listenLocally(server);
  return {
    base,
    /** The addresses of all requests, in order. */
    requests,
    /** Writes over OData, as an application does. */
    async write(method: 'POST' | 'PATCH' | 'DELETE', service: Service, path: string, body?: JsonObject): Promise<void> {
      const answer = await fetch(`${base}${SERVICES[service]}/${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      if (!answer.ok) throw new Error(`${method} ${path} was answered with ${answer.status}: ${await answer.text()}`);
    },
    async close(): Promise<void> {
      await endServer(server);
      await mock.dispose();
    },
  };
}

export type FeMockserver = Awaited<ReturnType<typeof startFeMockserver>>;
