import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from '@20minutes/s3rver';
import { AwsClient } from 'aws4fetch';
import { removeFolder } from '../../support/machine/remove-folder.ts';

export interface S3TestServer {
  endpoint: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
  put: (key: string, content: string | Uint8Array) => Promise<void>;
  /** The content of an object; null if there is no such key. */
  get: (key: string) => Promise<string | null>;
  stop: () => Promise<void>;
}

/**
 * Starts a server that replaces an S3-compatible storage: it uses the protocol over HTTP, checks the signatures, and
 * keeps the objects in a new folder.
 */
export async function startS3Server(): Promise<S3TestServer> {
  const directory = await mkdtemp(join(tmpdir(), 'dpp-sync-s3-'));
  const bucket = 'exports';
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: bucket }],
  });
  const { port } = await server.run();
  const endpoint = `http://127.0.0.1:${port}`;
  // The only key that the server knows.
  const keys = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };
  const client = new AwsClient({ ...keys, service: 's3', region: 'us-east-1', retries: 0 });
  const addressOf = (key: string) => `${endpoint}/${bucket}/${key.split('/').map(encodeURIComponent).join('/')}`;
  return {
    ...keys,
    endpoint,
    bucket,
    async put(key, content) {
      const answer = await client.fetch(addressOf(key), { method: 'PUT', body: Buffer.from(content) });
      if (!answer.ok) throw new Error(`The object was not stored: ${answer.status} ${await answer.text()}`);
      await answer.arrayBuffer();
    },
    async get(key) {
      const answer = await client.fetch(addressOf(key));
      const text = await answer.text();
      return answer.ok ? text : null;
    },
    async stop() {
      await server.close();
      await removeFolder(directory);
    },
  };
}
