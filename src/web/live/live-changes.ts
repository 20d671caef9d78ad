import type { ServerResponse } from 'node:http';
import type { EventBus } from '../../observe/event-bus.ts';
import type { Access } from '../access.ts';
import type { Route } from '../server/route.ts';
import { WebFault } from '../web-fault.ts';

/** A page that listens to changes. */
export interface LiveListener {
  response: ServerResponse;
  /** The name of the person. Each person may have a bounded number of streams. */
  name: string;
  /** False if the session has ended. Then the stream ends as well. */
  mayGoOn(): boolean;
}

/**
 * The most open streams of all persons, which is half of the server's connections, and the most streams of one person
 * (I9). One more stream of a person ends the oldest one.
 */
const STREAMS_MAX = 64;
const STREAMS_OF_ONE_MAX = 12;
/** The shortest time between two messages to a page. */
const EVERY_MS = 500;
/**
 * If a page was made within this time before it begins to listen, it may lack a change that was reported in between.
 */
const LATELY_MS = 10_000;
/** At this interval a comment is sent, so that proxies do not end a silent stream, and the session is checked again. */
const BEAT_MS = 15_000;

const CHANGE = 'event: change\ndata: 1\n\n';

export type LiveHub = ReturnType<typeof createLiveHub>;

/** Reports to open pages that something has changed, as server-sent events. The page itself then reads the changes. */
export function createLiveHub({ bus }: { bus: EventBus }) {
  // A set remembers the order in which its members came.
  const listeners = new Set<LiveListener>();
  let timer: NodeJS.Timeout | null = null;
  let isDirty = false;
  let changedAt = Number.NEGATIVE_INFINITY;

  /** Sends a message to all pages. A page that reads too slowly gets one message for several changes. */
  function sendAll(text: string): boolean {
    let all = true;
    for (const { response } of listeners) {
      if (response.writableNeedDrain) all = false;
      else response.write(text);
    }
    return all;
  }

  function flush(): void {
    timer = null;
    if (!isDirty) return;
    isDirty = !sendAll(CHANGE);
    timer = setTimeout(flush, EVERY_MS);
  }

  function notify(): void {
    changedAt = performance.now();
    if (listeners.size === 0) return;
    isDirty = true;
    timer ??= setTimeout(flush, EVERY_MS / 2);
  }

  function end(listener: LiveListener): void {
    listeners.delete(listener);
    listener.response.end();
  }

  const beat = setInterval(() => {
    for (const listener of listeners) if (!listener.mayGoOn()) end(listener);
    sendAll(':\n\n');
  }, BEAT_MS);
  beat.unref();
  const unsubscribe = bus.subscribe(notify);

  const disconnect = () => {
    for (const listener of listeners) end(listener);
  };
  return {
    /** False if there are too many streams already. */
    hasRoom: () => listeners.size < STREAMS_MAX,
    add(listener: LiveListener) {
      const own = [...listeners].filter(({ name }) => name === listener.name);
      if (own.length >= STREAMS_OF_ONE_MAX && own[0] !== undefined) end(own[0]);
      listeners.add(listener);
      listener.response.once('close', () => listeners.delete(listener));
      listener.response.write('retry: 3000\n\n');
      if (performance.now() - changedAt < LATELY_MS) listener.response.write(CHANGE);
    },
    /** Call it when something has changed that the event bus does not report. */
    notify,
    /** Ends all streams. Browsers open a stream again if their session allows it. */
    disconnect,
    close() {
      unsubscribe();
      clearInterval(beat);
      if (timer !== null) clearTimeout(timer);
      disconnect();
    },
  };
}

/** The stream that reports changes to open pages. */
export function liveRoutes({ hub, access }: { hub: LiveHub; access: Access }): Route[] {
  return [
    {
      method: 'GET',
      path: '/live',
      role: 'viewer',
      async handle({ person, visitor }) {
        if (!hub.hasRoom()) throw new WebFault(503, 'Too many pages are open. This page does not update itself.');
        const mayGoOn = () => access.recognise({ ...visitor, headers: { ...visitor.headers, 'x-live': '1' } }).ok;
        const signal = access.signal(visitor);
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
