import type { Access } from '../access.ts';
import type { Route } from '../server/route.ts';
import { WebFault } from '../server/web-fault.ts';
import type { LiveHub } from './live-hub.ts';

/** The stream that reports changes to open pages. */
export function liveRoutes({ hub, access }: { hub: LiveHub; access: Access }): Route[] {
  return [
    {
      method: 'GET',
      path: '/live',
      role: 'viewer',
      async handle({ person, headers, ip }) {
        if (!hub.hasRoom()) throw new WebFault(503, 'Too many pages are open. This page does not update itself.');
        const mayGoOn = () => access.recognise({ headers: { ...headers, 'x-live': '1' }, ip }).ok;
        const signal = access.signal({ headers, ip });
        return {
          type: 'events',
          open(response) {
            hub.add({ response, name: person.name, mayGoOn });
            if (signal === null) return;
            // A session outlives thousands of streams, so a closed stream must not stay with its signal (I9).
            const end = () => response.end();
            signal.addEventListener('abort', end, { once: true });
            response.once('close', () => signal.removeEventListener('abort', end));
          },
        };
      },
    },
  ];
}
