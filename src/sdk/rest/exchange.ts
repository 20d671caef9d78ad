/** A request to a REST source and its answer, as `dpp-sync connector record` stores them. */
export interface Exchange {
  request: {
    method: string;
    /** The path and the query. */
    path: string;
    /** The text of the body; empty without one. */
    body: string;
  };
  answer: {
    status: number;
    /** Names in lower case. */
    headers: Record<string, string>;
    body: string;
  };
}

/** The headers of an answer on which a connector may depend. Others are not recorded. */
const HEADERS_KEPT =
  /^(?:content-type|date|age|link|retry-after|location|preference-applied|odata-version|dataserviceversion|x-.*(?:total|page|cursor|limit|remaining|reset).*)$/;

export function headersToRecord(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && HEADERS_KEPT.test(name)) kept[name] = [value].flat().join(', ');
  }
  return kept;
}
