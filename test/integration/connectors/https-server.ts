import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { makeCertificates } from '../../support/servers/certificates.ts';

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export interface HttpsTestServer {
  /** `https://127.0.0.1:port`. */
  address: string;
  /** The certificate of the authority that has signed the certificate of the server. */
  ca: string;
  /** The requests so far, in order, without their bodies. */
  requests: IncomingMessage[];
  /** Sets the handler that answers all later requests. */
  answer: (handler: Handler) => void;
  stop: () => Promise<void>;
}

/** Starts a web server, whose certificate a new authority has signed. */
export async function startHttpsServer(): Promise<HttpsTestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'dpp-sync-https-'));
  const { ca, cert, key } = makeCertificates(folder);
  await removeFolder(folder);
  const requests: IncomingMessage[] = [];
  let handler: Handler = (_request, response) => void response.writeHead(404).end();
  const server = createServer({ cert, key }, (request, response) => {
    requests.push(request);
    response.on('error', () => undefined);
    handler(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca,
    requests,
    answer(next) {
      requests.length = 0;
      handler = next;
    },
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
