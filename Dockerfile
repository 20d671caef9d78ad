# The daemon and the command line in one image: see docs/operations.md.

FROM node:24-bookworm-slim AS base
WORKDIR /app
COPY package.json package-lock.json .npmrc ./

FROM base AS build
RUN npm ci --no-audit --no-fund
COPY rolldown.config.ts tsconfig.json tsconfig.types.json ./
COPY src ./src
COPY connectors ./connectors
RUN npm run build

FROM base AS dependencies
# Nothing optional is needed: this image has a Node of its own, msgpackr works without its native part, and the TypeScript
# compiler is only an optional peer of a package that bull-board uses. mssql reads SQL Server. The image has it, in the version of
# package.json and with the packages of package-lock.json.
COPY src/prune-modules.ts ./src/
RUN npm ci --omit=dev --omit=optional --no-audit --no-fund \
  && npm install --no-save --save-prod --omit=dev --omit=optional --no-audit --no-fund \
    "mssql@$(node -p 'require("./package.json").peerDependencies.mssql')" \
  && node src/prune-modules.ts node_modules

FROM node:24-bookworm-slim
LABEL org.opencontainers.image.title="dpp-sync" \
  org.opencontainers.image.description="Integration middleware between ERP and PIM exports and a Digital Product Passport platform" \
  org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
COPY src/compile-cache.mjs src/launcher.mjs ./src/
COPY config ./config
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 4280
STOPSIGNAL SIGTERM
# The check runs inside the container. It needs a `web` section in the config, and no token.
ENV DPP_SYNC_HEALTH_URL=http://127.0.0.1:4280/healthz
HEALTHCHECK --interval=30s --timeout=6s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(process.env.DPP_SYNC_HEALTH_URL).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# The process handles its signals itself and starts no other processes, so it needs no init process.
# The objects of a record live only for a moment. They fit into a nursery of 8 MB (V8's area for new objects), and a larger one would only
# take memory. The scripts of package.json have the same options.
ENTRYPOINT ["node", "--min-semi-space-size=4", "--max-semi-space-size=16", "src/launcher.mjs"]
CMD ["start", "-c", "/config/dpp-sync.yaml"]
