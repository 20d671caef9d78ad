import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { DRAIN_MS } from '../../../src/daemon/daemon.ts';
import { type GuardedWeb, openGuardedWeb } from '../../support/browser/guarded-web.ts';
import { askWeb } from '../../support/browser/web-visitor.ts';

const ROOT = join(import.meta.dirname, '../../..');
const FOLDER = 'config/kubernetes';
const text = (path: string) => readFileSync(join(ROOT, path), 'utf8');

interface Kustomization {
  resources: string[];
  images: { name: string; newTag: string }[];
  configMapGenerator: { name: string; files: string[] }[];
  secretGenerator: { name: string; files: string[] }[];
}
interface Probe {
  httpGet: { path: string; port: string; httpHeaders: { name: string; value: string }[] };
  periodSeconds: number;
  failureThreshold: number;
}
interface Container {
  image: string;
  command?: string[];
  args?: string[];
  ports: { name: string; containerPort: number }[];
  env?: { name: string; value: string }[];
  securityContext: object;
  startupProbe: Probe;
  livenessProbe: Probe;
  readinessProbe: Probe;
  volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[];
}
interface Volume {
  name: string;
  configMap?: { name: string };
  secret?: { secretName: string; items?: { key: string }[] };
  persistentVolumeClaim?: { claimName: string };
  emptyDir?: object;
}
interface Pod {
  terminationGracePeriodSeconds?: number;
  automountServiceAccountToken: boolean;
  securityContext: { runAsUser: number };
  containers: [Container];
  volumes: Volume[];
}
interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  spec: {
    accessModes: string[];
    replicas: number;
    strategy: object;
    selector: object;
    template: { metadata: { labels: object }; spec: Pod };
    ports: { port: number; targetPort: string }[];
    publishNotReadyAddresses?: boolean;
  };
}

const kustomization = parse(text(`${FOLDER}/kustomization.yaml`)) as Kustomization;
const manifests = kustomization.resources.flatMap((file) =>
  parseAllDocuments(text(`${FOLDER}/${file}`)).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS() as Manifest;
  }),
);
function manifestOf(kind: string, name: string): Manifest {
  const found = manifests.find((one) => one.kind === kind && one.metadata.name === name);
  if (found === undefined) throw new Error(`There is no ${kind} ${name}.`);
  return found;
}
const deployment = manifestOf('Deployment', 'dpp-sync').spec;
const pod = deployment.template.spec;
const [daemon] = pod.containers;
const redis = manifestOf('Deployment', 'redis').spec.template.spec;
const volumeAt = (place: string) => {
  const mount = daemon.volumeMounts.find(({ mountPath }) => mountPath === place);
  return { ...pod.volumes.find(({ name }) => name === mount?.name), readOnly: mount?.readOnly ?? false };
};
/** The config that docs/kubernetes.md copies beside the manifests. */
const config = text('config/dpp-sync.container.yaml');
const { ledger, queue, web } = parse(config) as { ledger: string; queue: string; web: { host: string; port: number } };

describe('the manifests for Kubernetes', () => {
  it('the manifests for Kubernetes run one daemon on one ledger, which ends before the next one starts', () => {
    expect(deployment).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } });
    const { claimName = '' } = volumeAt(posix.dirname(ledger)).persistentVolumeClaim ?? {};
    expect(manifestOf('PersistentVolumeClaim', claimName).spec.accessModes).toEqual(['ReadWriteOncePod']);
    expect((pod.terminationGracePeriodSeconds ?? 0) * 1000).toBeGreaterThan(DRAIN_MS + 10_000);
  });

  it('the manifests for Kubernetes run both programs as their users, without root, rights and a disk to write to', () => {
    expect(text('Dockerfile')).toContain('\nUSER node\n');
    expect([pod.securityContext.runAsUser, redis.securityContext.runAsUser]).toEqual([1000, 999]);
    for (const one of [pod, redis]) {
      const { runAsUser } = one.securityContext;
      expect(one.securityContext).toMatchObject({ runAsNonRoot: true, runAsGroup: runAsUser, fsGroup: runAsUser });
      expect(one.automountServiceAccountToken).toBe(false);
      expect(one.containers[0].securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(one.volumes).toContainEqual({ name: 'tmp', emptyDir: {} });
      expect(one.containers[0].volumeMounts).toContainEqual({ name: 'tmp', mountPath: '/tmp' });
    }
    expect(daemon.env).toEqual([{ name: 'XDG_CACHE_HOME', value: '/tmp' }]);
  });

  it('the manifests for Kubernetes fit the image and the config of the container', () => {
    const [name = '', , file = ''] = JSON.parse(
      /^CMD (.*)$/m.exec(text('Dockerfile').split('HEALTHCHECK')[1] ?? '')?.[1] ?? '[]',
    ) as string[];
    expect([daemon.command, daemon.args, name]).toEqual([undefined, undefined, 'start']);
    const [maps] = kustomization.configMapGenerator;
    expect(maps?.files).toContain(posix.basename(file));
    expect(volumeAt(posix.dirname(file))).toMatchObject({ configMap: { name: maps?.name }, readOnly: true });

    const [secrets] = kustomization.secretGenerator;
    const named = [...config.matchAll(/^[^#\n]*\$\{file:(\/run\/secrets)\/(\w+)/gm)].map(
      ([, , secret]) => `secrets/${secret}`,
    );
    expect(named.toSorted()).toEqual(secrets?.files.toSorted());
    expect(volumeAt('/run/secrets')).toMatchObject({ secret: { secretName: secrets?.name }, readOnly: true });
    expect(config).toContain('path: /exports/');
    expect(volumeAt('/exports')).toMatchObject({ readOnly: true });

    const { version } = JSON.parse(text('package.json')) as { version: string };
    expect(kustomization.images).toMatchObject([{ name: daemon.image, newTag: version }]);
  });

  it('the manifests for Kubernetes name ports, volumes and pods that exist', () => {
    expect(web).toMatchObject({ host: '0.0.0.0', port: daemon.ports[0]?.containerPort });
    const { hostname, port } = new URL(queue);
    for (const [name, number] of [
      ['dpp-sync', web.port],
      [hostname, Number(port)],
    ] as const) {
      const service = manifestOf('Service', name).spec;
      const { selector, template } = manifestOf('Deployment', name).spec;
      expect(template.metadata.labels).toEqual(service.selector);
      expect(selector).toEqual({ matchLabels: service.selector });
      const [container] = template.spec.containers;
      expect(service.ports).toMatchObject([{ port: number, targetPort: container.ports[0]?.name }]);
      expect(container.ports[0]?.containerPort).toBe(number);
      expect(container.volumeMounts.map((mount) => mount.name)).toEqual(
        template.spec.volumes.map((volume) => volume.name),
      );
      for (const { persistentVolumeClaim } of template.spec.volumes) {
        if (persistentVolumeClaim) manifestOf('PersistentVolumeClaim', persistentVolumeClaim.claimName);
      }
    }
    // People look at the dashboard to see why the daemon is not ready.
    expect(manifestOf('Service', 'dpp-sync').spec.publishNotReadyAddresses).toBe(true);
    for (const file of kustomization.resources) expect(existsSync(join(ROOT, FOLDER, file))).toBe(true);
  });

  it('the manifests for Kubernetes start Redis as compose.yaml does', () => {
    const compose = parse(text('compose.yaml')) as { services: { redis: { image: string; command: string[] } } };
    const { image, command } = compose.services.redis;
    expect(redis.containers[0]).toMatchObject({ image, command: command.map((part) => part.replaceAll('$$', '$')) });
  });
});

describe('the probes of Kubernetes', () => {
  let served: GuardedWeb;
  beforeAll(async () => {
    served = await openGuardedWeb();
  });
  afterAll(() => served.remove());

  it.each(['startupProbe', 'livenessProbe', 'readinessProbe'] as const)(
    'the %s of Kubernetes is answered without a login, under the name that it gives',
    async (name) => {
      const { path, port, httpHeaders } = daemon[name].httpGet;
      expect(port).toBe(daemon.ports[0]?.name);
      const headers = Object.fromEntries(httpHeaders.map((header) => [header.name.toLowerCase(), header.value]));
      expect((await askWeb(served.url, path, { headers })).status).toBe(200);
      // The address of a pod.
      expect((await askWeb(served.url, path, { headers: { host: '10.1.2.3:4280' } })).status).toBe(421);
    },
  );

  it('the probes of Kubernetes restart nothing that recovers by itself: only readiness asks for ledger and queue', () => {
    const paths = [daemon.startupProbe, daemon.livenessProbe, daemon.readinessProbe].map(({ httpGet }) => httpGet.path);
    // test/processes/delivery/full-disk.test.ts shows their answers while the disk is full.
    expect(paths).toEqual(['/livez', '/livez', '/readyz']);
  });
});
