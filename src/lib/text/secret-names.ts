// Names of members, parameters and headers that hold secrets.

const SECRET = new Set(
  `token secret consumerkey password passwd pwd passphrase apikey accesskey privatekey secretkey clientsecret authorization credential
   credentials session sessionid cookie jwt sig hmac`.split(/\s+/),
);

/** The words of a name, such as `first_name` and `firstName`, in lower case. */
export function wordsOfName(name: string): string[] {
  return (name.match(/\p{Lu}?\p{Ll}+|\p{Lu}+(?!\p{Ll})/gu) ?? []).map((word) => word.toLowerCase());
}

/** The last words of a name, joined: `name` and `firstname`, each also without the end of a plural. */
export function endsOfName(words: readonly string[]): string[] {
  return words
    .map((_, at) => words.slice(at).join(''))
    .flatMap((end) => [end, end.replace(/s$/, ''), end.replace(/es$/, '')]);
}

export function isSecretName(name: string): boolean {
  return endsOfName(wordsOfName(name)).some((end) => SECRET.has(end));
}

/** In the parameters of an address some more names mean secrets, which are ordinary members elsewhere. */
export function isSecretParameter(name: string): boolean {
  const words = wordsOfName(name);
  return isSecretName(name) || ['key', 'pin'].includes(words.join('')) || endsOfName(words).includes('signature');
}
