// The part of oidc-provider that the tests use. The package has no types.
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http';

  interface Model {
    save(): Promise<string>;
    destroy(): Promise<void>;
    isExpired: boolean;
  }
  interface ModelClass {
    new (properties: object): Model;
    find(value: string): Promise<Model | undefined>;
  }

  export class Provider {
    constructor(issuer: string, configuration: object);
    callback(): RequestListener;
    readonly Client: { find(id: string): Promise<object | undefined> };
    readonly Grant: new (
      properties: object,
    ) => Model & { addOIDCScope(scope: string): void };
    readonly RefreshToken: ModelClass;
    readonly AccessToken: ModelClass;
    readonly ClientCredentials: ModelClass;
  }
}
