// GraphQL answers 200 to a request of which a part has failed. Then data may be null or a part of the rows, and `errors` says so.

import { sourceFault } from '../connector.ts';
import { refusalIn } from './refusal-in-answer.ts';
import type { RestClient } from './rest-client.ts';
import type { RestStream } from './rest-options.ts';

/** True for a stream whose rows or changes come from GraphQL. */
export function asksGraphql({ page, changes }: RestStream): boolean {
  const own = changes !== undefined && 'by' in changes ? changes.page : undefined;
  return page.by === 'graphql' || own?.by === 'graphql';
}

/** The same client, for which an answer with `errors` is a failure. Failures that `failure` names are found before. */
export function withErrorsOfGraphql(client: RestClient): RestClient {
  return {
    ...client,
    async request(asked, signal) {
      const answer = await client.request(asked, signal);
      const refused = refusalIn(answer.document, [{ at: ['errors'] }]);
      if (refused === null) return answer;
      throw sourceFault(
        `The answer to the request for ${asked.what} has \`errors\`, so data may be missing in it: ${client.clean(refused.text).slice(0, SHOWN_MAX)}`,
        {
          suggestion:
            'Correct the request of the stream. If the server only means that there were too many requests, name its code in `failure.again` of the source.',
        },
      );
    },
  };
}

const SHOWN_MAX = 500;
