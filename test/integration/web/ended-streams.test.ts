import { getEventListeners, once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { createEventBus } from '../../../src/observe/event-bus.ts';
import { createAccess } from '../../../src/web/access.ts';
import { createLiveHub, liveRoutes } from '../../../src/web/live/live-changes.ts';
import type { Visitor, WebRequest } from '../../../src/web/server/route.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';

const TOKEN = 'web-token-0123456789';

it('a stream of changes that was cut off leaves nothing with its session', async () => {
  const access = createAccess({ token: TOKEN, users: [] }, systemClock, {
    stored: [],
    store: async () => undefined,
    drop: async () => undefined,
  });
  const login = await access.login({ headers: {}, ip: '127.0.0.1', named: null }, { name: '', secret: TOKEN });
  const visitor: Visitor = {
    headers: { cookie: login.ok ? `dpp_sync_session=${login.session}` : '' },
    ip: '127.0.0.1',
    named: null,
  };
  const session = access.signal(visitor) ?? AbortSignal.abort();
  const hub = createLiveHub({ bus: createEventBus({ log: createRecordingLog() }) });
  const [route] = liveRoutes({ hub, access });
  const serve = async (response: ServerResponse) => {
    const answer = await route?.handle({ visitor, person: { name: 'token' } } as WebRequest);
    if (answer?.type === 'events') answer.open(response);
  };
  const server = createServer((_request, response) => void serve(response));
  onTestFinished(() => {
    hub.close();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  for (let stream = 0; stream < 3; stream += 1) {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write('GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(socket, 'data');
    expect(getEventListeners(session, 'abort')).toHaveLength(1);
    socket.resetAndDestroy();
    await vi.waitUntil(() => getEventListeners(session, 'abort').length === 0, { timeout: WAIT_MS });
  }
});
