import { type DashboardServer, openWeb, type ServedRoute } from '../../../src/web/web-server.ts';
import { PRODUCTS, type ServedWorld, startDaemon, WEB_TOKEN } from '../worlds/daemon-world.ts';
import { createWorld } from '../worlds/world.ts';
import { quickHash } from './quick-hash.ts';
import { visitWeb, type WebVisitor } from './web-visitor.ts';

export const PASSWORDS = {
  viewer: 'viewers look at everything',
  editor: 'editors correct the data',
  operator: 'operators do the rest',
} as const;

/** A daemon with one person for each role, and all routes that its server serves. */
export interface GuardedWeb extends ServedWorld {
  served: readonly ServedRoute[];
  server: DashboardServer;
  /** With which the server was opened. */
  context: Parameters<typeof openWeb>[0];
  people: Record<keyof typeof PASSWORDS, WebVisitor>;
}

export async function openGuardedWeb(
  options: { files?: Record<string, string>; sources?: readonly object[] } = {},
): Promise<GuardedWeb> {
  const { files = PRODUCTS.files, sources = [PRODUCTS.source] } = options;
  const users = Object.entries(PASSWORDS).map(([role, password]) => ({
    name: `the-${role}`,
    role,
    password: quickHash(password),
  }));
  const world = await createWorld({ config: { web: { port: 0, token: WEB_TOKEN, users }, sources }, files });
  let server: Pick<GuardedWeb, 'server' | 'context'> | null = null;
  const started = await startDaemon(world, {
    openWeb: async (context, web) => {
      server = { server: await openWeb(context, web), context };
      return server.server;
    },
  });
  const visit = (role: keyof typeof PASSWORDS) =>
    visitWeb(started.url, { name: `the-${role}`, password: PASSWORDS[role] });
  const people = { viewer: await visit('viewer'), editor: await visit('editor'), operator: await visit('operator') };
  // The compiler does not see that the function above was called.
  const opened = server as Pick<GuardedWeb, 'server' | 'context'> | null;
  if (opened === null) throw new Error('The daemon has opened no web server.');
  return { ...started, ...opened, served: opened.server.served, people };
}

/** The path of a route with its parameters filled in. */
export function pathOf(route: Pick<ServedRoute, 'path'>, value: string | ((name: string) => string)): string {
  return route.path.replace(/:(\w+)|\*/g, (_, name: string | undefined) =>
    typeof value === 'string' ? value : value(name ?? '*'),
  );
}
