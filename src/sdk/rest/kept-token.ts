/** A token that a login has given. */
export interface Token {
  value: string;
  /** When it ends, on the monotonic clock; infinite if that is not known. */
  endsAt: number;
}

export type TokenSource = (signal: AbortSignal) => Promise<Token>;

/** A token is renewed this long before it ends. */
const EARLY_MS = 60_000;

/** Keeps a token until shortly before its end. Requests that run at once share one request for a token. */
export function keepToken(get: TokenSource) {
  let kept: Promise<Token> | null = null;
  const renewed = (signal: AbortSignal): Promise<Token> => {
    const asked = get(signal);
    kept = asked;
    asked.catch(() => {
      if (kept === asked) kept = null;
    });
    return asked;
  };
  /** The kept token, or the next one if the kept one cannot be used. The next token is not asked again, so this ends. */
  const usable = async (isUsedUp: (token: Token) => boolean, signal: AbortSignal): Promise<Token> => {
    const asked = kept ?? renewed(signal);
    const token = await asked;
    if (!isUsedUp(token)) return token;
    // Another request may have asked for the next token while this one waited.
    return await (kept === null || kept === asked ? renewed(signal) : kept);
  };
  return {
    current: (signal: AbortSignal): Promise<Token> =>
      usable(({ endsAt }) => performance.now() > endsAt - EARLY_MS, signal),
    /** Gives a token other than the one that the server has refused. */
    afterRefusal: (isRefused: (token: Token) => boolean, signal: AbortSignal): Promise<Token> =>
      usable(isRefused, signal),
  };
}

/** When a token ends. One that is valid for a short time is used for the first half of it. */
export function endOfToken(validMs: number): number {
  return performance.now() + Math.max(validMs, EARLY_MS + validMs / 2);
}
