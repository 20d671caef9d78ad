import { restConnector } from '../../src/sdk/index.ts';

/** REST APIs, described in the config. */
export const rest = restConnector('rest', 'REST APIs: requests, pages and changes as the config describes them');
